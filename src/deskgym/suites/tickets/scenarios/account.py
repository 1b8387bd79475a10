"""Getting in, staying in, and whose address it is."""

from deskgym.suites.tickets.scenario import GoodReply, Scenario, Wording, keyword
from deskgym.suites.tickets.scenarios.remedy import SIGN_IN, TWO_FACTOR, VERIFY

_SYNONYMS = ("login", "log in", "sign in", "password", "profile", "credentials")

RESET_EMAIL_MISSING = Scenario(
    name="reset_email_missing",
    category="account",
    wordings=(
        Wording(
            opening=(
                "I've forgotten my password and asked for the reset email four times now. "
                "Nothing comes. I can't get in at all and I've a class to teach from there "
                "tonight."
            ),
            follow_up=(
                "I looked in junk, nothing there. It's the address I joined with, my work one, "
                "and other mail reaches me fine."
            ),
            acknowledgement="It's here! And I'm in. Thank you.",
        ),
        Wording(
            opening=(
                "forgot password link does nothing. no mail. been trying for an hour, "
                "locked out"
            ),
            follow_up="yes checked spam. gmail. same mail i always use to get in",
            acknowledgement="got it, new password set, all good",
        ),
        Wording(
            opening=(
                "Good morning. I should like to choose a new password, since I cannot recall the "
                "old one, and your page assures me each time that 'an email has been sent'. It "
                "has not, or at any rate it has not reached me, in two days. My son says that "
                "you can send it by hand."
            ),
            follow_up=(
                "My son looked into the spam folder with me and found only a lottery. The "
                "mailbox is with our village provider, and they are rather strict."
            ),
            acknowledgement="It has arrived, and I have written the new one down. Many thanks.",
        ),
    ),
    keywords=(
        keyword("reset link", "password link", "reset email", "reset mail"),
        keyword("spam", "junk", "spam folder", "junk folder"),
        keyword("resend", "resent", "sent a new", "sent a fresh", "send a new"),
        keyword("safe senders", "safe sender", "allow list", "allowlist", "whitelist"),
        keyword("temporary password", "one time code", "temporary code", "one time password"),
        keyword("registered email", "email on file", "registered address", "address on file"),
        keyword("expires", "expire", "valid for"),
        VERIFY,
        keyword("mail provider", "email provider", "mail server"),
        SIGN_IN,
    ),
    fair=(),
    topics=(
        "spam", "junk", "inbox", "registered", "reset", "password", "username", "mailbox",
        "sign in", "log in", "email address",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Have you looked in the spam folder, and which mailbox did you sign up with?",
        resolution=(
            "Your mail provider held our messages back, so I have sent a fresh reset link from "
            "a second server to your registered email. It is valid for one hour. Please look in "
            "the spam folder as well, and add us to your safe senders, so that the next one "
            "comes straight through."
        ),
        recap="The new reset link is in your mailbox and is valid for one hour.",
    ),
)  # fmt: skip

SUSPENDED = Scenario(
    name="suspended",
    category="account",
    wordings=(
        Wording(
            opening=(
                "I tried to get in this morning and was told that I've been suspended for "
                "'unusual activity'. I've done nothing unusual. My whole shop runs on this."
            ),
            follow_up=(
                "The notice came at 7.50 and gives no reason beyond that. I did get in from a "
                "hotel in Lisbon on Sunday, if that counts as unusual."
            ),
            acknowledgement="I'm back in and everything's there. Thank you, what a relief.",
        ),
        Wording(
            opening=(
                "SUSPENDED?! What for? Eight years a member and you shut me out overnight with a "
                "form letter. I expect to be let back in today, and I expect a reason."
            ),
            follow_up=(
                "The letter says 'breach of terms', no more. Yesterday? I changed my phone and "
                "got in from the new one. Is that a crime now?"
            ),
            acknowledgement="Well. I'm in. I appreciate the explanation, at least.",
        ),
        Wording(
            opening=(
                "hi, my profile got suspended after i typed the wrong password a bunch of times. "
                "it was really me, i just mixed up two passwords :( can you unlock me?"
            ),
            follow_up=(
                "around 9 last night, the message said suspended for security. i still "
                "have my phone"
            ),
            acknowledgement="yay it let me in, thank youuu",
        ),
    ),
    keywords=(
        keyword(
            "reinstated", "reinstate", "restored", "restore", "reactivated", "reactivate",
            "unsuspended", "lifted", "unlocked", "unlock",
        ),
        VERIFY,
        keyword(
            "security review", "security check", "security team", "review team", "false alarm",
            "automatic security",
        ),
        TWO_FACTOR,
        keyword("appeal", "appeals"),
        keyword("full access", "regain access", "access is back", "access again"),
        keyword("data is safe", "data are safe", "files are safe", "everything is intact"),
        SIGN_IN,
        keyword("new password", "change your password", "strong password"),
    ),
    fair=(),
    topics=(
        "suspended", "suspension", "notice", "sign in", "signed in", "log in", "logged in",
        "locked", "unusual activity", "new phone", "password", "travel", "travelled",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="What does the suspension notice say, and did you sign in from somewhere new?",
        resolution=(
            "An automatic security check took your sign-in from a new place for somebody "
            "else's: a false alarm. I have verified that it was you and lifted the suspension, "
            "so you have full access again, and your data is safe. Please switch on two-factor "
            "codes, and a new place will be recognised as yours."
        ),
        recap="The suspension is lifted, and two-factor codes keep it from coming back.",
    ),
)  # fmt: skip

EMAIL_MOVE = Scenario(
    name="email_move",
    category="account",
    wordings=(
        Wording(
            opening=(
                "I'm leaving my job next week and will lose my work email, which is what I use "
                "to get in here. How do I move everything to my private one without losing my "
                "saved projects?"
            ),
            follow_up=(
                "I can still read the old mailbox until Friday. The new one is a plain private "
                "address that I've never used with you before."
            ),
            acknowledgement="Clicked it, and I'm in with the private one. Projects all there!",
        ),
        Wording(
            opening=(
                "got married, new surname, new email. how do i switch what i sign in with? the "
                "old email is being shut down by my provider at the end of the month"
            ),
            follow_up=(
                "yep can still open the old one. new one's ready. i have codes on my "
                "phone too"
            ),
            acknowledgement="done, works with the new one. thanks!!",
        ),
        Wording(
            opening=(
                "Hello. Our association changes its domain, and with it the email that I am "
                "registered under with you. I have looked for a way to replace the one by the "
                "other and found that the field is grey. All that we have stored must stay where "
                "it is, naturally. How do we go about it?"
            ),
            follow_up=(
                "Both mailboxes are open to me at present, the old one until the summer. The "
                "new address does not belong to any other member."
            ),
            acknowledgement="Very good, the field shows the new address. Many thanks.",
        ),
    ),
    keywords=(
        keyword("new email", "new email address", "new address", "new mailbox"),
        keyword("confirmation link", "verification link", "verification email"),
        keyword("old address", "old email", "previous address", "previous email",
                "old email address", "current email", "old mailbox"),
        VERIFY,
        TWO_FACTOR,
        SIGN_IN,
        keyword("profile page", "profile settings", "contact details", "email settings"),
        keyword("history", "saved projects", "saved data", "everything stays"),
        keyword("transfer", "transferred", "switched over", "moved over", "switch over"),
    ),
    fair=(),
    topics=(
        "new email", "old email", "new address", "old address", "old mailbox", "new mailbox",
        "mailbox", "mailboxes", "current email", "email address", "sign in", "inbox",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Can you still open the old mailbox, and is the new address ready to use?",
        resolution=(
            "I have opened the change for you. A confirmation link is on its way to the new "
            "address, and a notice goes to your old email for safety. Press the link within a "
            "day, and you sign in with the new mailbox from then on. Your history is transferred "
            "with it, and two-factor codes stay as they are."
        ),
        recap="From now on you sign in with the new address, and your history stays in place.",
    ),
)  # fmt: skip

SCENARIOS = (RESET_EMAIL_MISSING, SUSPENDED, EMAIL_MOVE)
