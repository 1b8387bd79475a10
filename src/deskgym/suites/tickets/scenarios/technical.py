"""Software that does not do what it should."""

from deskgym.suites.tickets.scenario import GoodReply, Scenario, Wording, keyword
from deskgym.suites.tickets.scenarios.remedy import CLEAR_CACHE, ENGINEERS, HOTFIX, SIGN_IN

_SYNONYMS = ("bug", "bugs", "glitch", "malfunction", "software fault", "software error")

CRASH_AFTER_UPDATE = Scenario(
    name="crash_after_update",
    category="technical",
    wordings=(
        Wording(
            opening=(
                "Ever since last night's update your app dies the second I open it. White flash, "
                "then my home screen. I have a site visit at two and all my checklists are in "
                "there."
            ),
            follow_up=(
                "Pixel 7, Android 14, and the store says I'm on 8.2.0. I've switched the phone "
                "off and on, same thing. It worked until the update."
            ),
            acknowledgement="It opened! Let me see... yes, the checklists are all there. Phew.",
        ),
        Wording(
            opening=(
                "app wont stay open since it updated itself on tuesday. tap, spinner, gone. "
                "tap, spinner, gone. ipad. please help i use it all day"
            ),
            follow_up=(
                "ipad air, ios 17.5. it says 8.2.0 under about. dies before i can tap "
                "anything"
            ),
            acknowledgement="ok did that and it stays open now",
        ),
        Wording(
            opening=(
                "I look after tablets for a team of nine, and as of this week's release the app "
                "closes by itself on every one of them within ten seconds of starting. Nothing "
                "else on the devices has changed. Is this known, and what do you suggest?"
            ),
            follow_up=(
                "All nine are the same model, Galaxy Tab A9, Android 13. They moved from 8.1.4 "
                "to 8.2.0 on Wednesday. The two that had not updated yet are still fine."
            ),
            acknowledgement="Understood. I've done the first tablet and will roll it out to all.",
        ),
    ),
    keywords=(
        keyword("reinstall", "reinstalled", "reinstalling", "re install", "fresh install"),
        CLEAR_CACHE,
        keyword("latest version", "newest version", "latest update", "latest release"),
        keyword("restart", "restarted", "restarting", "reboot"),
        keyword("crash log", "crash logs", "crash report", "crash reports", "diagnostics"),
        HOTFIX,
        keyword("roll back", "rolled back", "rolling back", "previous version", "older version"),
        ENGINEERS,
    ),
    fair=(SIGN_IN,),
    topics=(
        "version", "device", "model", "tablet", "android", "ios", "operating system", "crash",
        "crashes", "crashing", "app", "error message", "crashed",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Which device do you use, and which version of the app does it show?",
        resolution=(
            "Version 8.2.0 has a fault at start-up, and a hotfix came out this morning. Please "
            "clear the app's cache, restart the device, and then reinstall from the store: that "
            "gives you the latest version, and your data is kept online. If that fails, send us "
            "the crash report from the settings page, and our engineers will look at it today."
        ),
        recap="After you reinstall, the app stays on the fixed build by itself.",
    ),
)  # fmt: skip

WEBHOOK_ERROR = Scenario(
    name="webhook_error",
    category="technical",
    wordings=(
        Wording(
            opening=(
                "Our alerts stopped arriving in the team chat on Friday. On your side the "
                "connector shows a red dot and '404 no_service' against the webhook. Nobody here "
                "touched anything. What now?"
            ),
            follow_up=(
                "It posts to #ops-alerts. The 404 is on every attempt since Friday 16:20. Could "
                "be that someone tidied the chat workspace up that day, now I think of it."
            ),
            acknowledgement="Test message just came through in #ops-alerts. Nice one.",
        ),
        Wording(
            opening=(
                "chat integration is broken. every post fails with invalid_token. we rely on "
                "this for on-call so it's kind of urgent"
            ),
            follow_up=(
                "channel is #oncall, the error's the same each time: invalid_token, http 403. "
                "last good one was 02:11 on sunday"
            ),
            acknowledgement="yep, green again. thanks for being quick",
        ),
        Wording(
            opening=(
                "Hello, I administer the integrations for a small clinic. The one which announces "
                "new bookings in our chat room now fails with 'channel_not_found', although the "
                "room exists and I can see it. The delivery log on your page lists 43 failed "
                "attempts. How can I mend this?"
            ),
            follow_up=(
                "The room was called #bookings and was renamed to #front-desk on Monday. It is "
                "also private now. The failures begin on Monday at about nine."
            ),
            acknowledgement="That was it, the notices are appearing in the right room once more.",
        ),
    ),
    keywords=(
        keyword("webhook url", "webhook address", "new webhook", "webhook"),
        keyword(
            "reconnect", "reconnected", "reconnecting", "re connect", "reauthorise",
            "reauthorize", "re authorise", "re authorize",
        ),
        keyword("token", "tokens", "api key"),
        keyword("permission", "permissions", "scope", "scopes"),
        keyword("channel", "channels"),
        keyword("test message", "test event", "test notification", "test post", "test alert"),
        keyword("retry", "retried", "replay", "replayed"),
        keyword("integration settings", "integrations settings", "integrations page",
                "integration page"),
        ENGINEERS,
    ),
    fair=(),
    topics=(
        "webhook", "channel", "error message", "error code", "integration", "workspace",
        "connector", "token", "chat", "error",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Which channel does the webhook post to, and was it renamed or moved lately?",
        resolution=(
            "The webhook URL that we hold no longer matches your chat workspace. On the "
            "integrations page, press Reconnect, choose the channel again, and allow the "
            "permissions that it asks for. We then issue a fresh token by itself, and you will "
            "see a test message within a minute."
        ),
        recap="The webhook is connected to the right channel again.",
    ),
)  # fmt: skip

BLANK_PDF_EXPORT = Scenario(
    name="blank_pdf_export",
    category="technical",
    wordings=(
        Wording(
            opening=(
                "When I export my quarterly report as a PDF I get four pages, all of them empty. "
                "On screen it looks perfect. Board meeting is tomorrow!"
            ),
            follow_up=(
                "Chrome, on a Mac. It's the 'Summary with charts' layout. The older reports come "
                "out white as well now, and they used to be fine."
            ),
            acknowledgement="There it is, charts and all. You've saved my meeting.",
        ),
        Wording(
            opening=(
                "PDF export = blank pages. Tried it five times. Tried it on a colleague's "
                "machine. Blank. Fix it please, I bill by the hour and this is hour two."
            ),
            follow_up=(
                "Firefox on Windows, v126. Own layout with our logo. Page count is "
                "right, ink isn't."
            ),
            acknowledgement="That worked. Took long enough, but it worked.",
        ),
        Wording(
            opening=(
                "Hi! A funny one for you: saving my lesson plan as a PDF gives me a file with "
                "the right number of pages and absolutely nothing on them. Printing from the "
                "page gives me white paper too. I've tried turning it off and on again, naturally."
            ),
            follow_up=(
                "I'm on Edge, on the school laptop, which has some sort of content blocker on it "
                "that I can't remove myself. The plan uses the handwriting font, if that matters."
            ),
            acknowledgement="Hooray, words! Thanks ever so much, Year 4 will be thrilled. Or not.",
        ),
    ),
    keywords=(
        keyword("export again", "export it again", "export the file again", "re export",
                "exporting again"),
        keyword("different browser", "another browser", "private window", "incognito"),
        keyword("extension", "extensions", "ad blocker", "content blocker", "add ons"),
        CLEAR_CACHE,
        keyword("font", "fonts"),
        keyword("layout", "template", "standard layout", "default template"),
        keyword("csv", "spreadsheet", "word document", "docx"),
        keyword("pdf reader", "pdf viewer"),
        keyword("hardware acceleration", "graphics setting"),
        ENGINEERS,
        HOTFIX,
    ),
    fair=(),
    topics=(
        "browser", "pdf", "export", "exporting", "layout", "template", "pages", "file", "version",
        "font", "viewer", "operating system",
    ),
    synonyms=_SYNONYMS,
    good_reply=GoodReply(
        question="Which browser do you use, and does every layout export empty pages?",
        resolution=(
            "Please clear the browser cache, switch off any content blocker for our page, and "
            "export again with the standard layout. If the pages stay white, open it in a "
            "private window: that leaves every extension out. Our engineers have the cause, and "
            "a hotfix goes live tonight."
        ),
        recap="Until tonight's hotfix, a private window gives you the full file.",
    ),
)  # fmt: skip

SCENARIOS = (CRASH_AFTER_UPDATE, WEBHOOK_ERROR, BLANK_PDF_EXPORT)
