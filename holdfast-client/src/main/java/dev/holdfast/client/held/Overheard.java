package dev.holdfast.client.held;

import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.RepeatRules;

/** What is learned from the requests of an application and their answers. Thread-safe. */
final class Overheard {
    private final RepeatRules rules = new RepeatRules();
    private final Settings settings = new Settings();

    Settings settings() {
        return settings;
    }

    /** Whether a request may be sent once more when its fate is unknown. */
    Repeat repeat(Envelope request) {
        boolean harmless =
                Settings.METHODS.contains(request.method()) || rules.harmless("", request.method(), request.bytes());
        return harmless ? Repeat.HARMLESS : Repeat.NEVER;
    }

    /** A request was answered with a result. */
    void answered(Envelope request, Envelope response) {
        settings.accepted(request);
        if (request.method().equals(RepeatRules.TOOLS_LIST)) {
            rules.learn("", response.bytes());
        }
    }
}
