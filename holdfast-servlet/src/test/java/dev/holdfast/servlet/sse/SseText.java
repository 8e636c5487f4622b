package dev.holdfast.servlet.sse;

import java.util.ArrayList;
import java.util.List;

/**
 * Reads an event stream as browsers do, and shares no code with what wrote it.
 *
 * @see <a href="https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation">HTML, event stream
 *     interpretation</a>
 */
final class SseText {
    private SseText() {}

    /**
     * An event that was dispatched.
     *
     * @param id the last id before it, empty if there was none
     */
    record Read(String id, String event, String data) {}

    static List<Read> read(String text) {
        List<Read> events = new ArrayList<>();
        String id = "";
        String event = "";
        StringBuilder data = new StringBuilder();
        String[] lines = text.split("\r\n|\n|\r", -1);
        // what follows the last line end is no line yet
        for (int i = 0; i < lines.length - 1; i++) {
            String line = lines[i];
            if (line.isEmpty()) {
                if (data.length() > 0) {
                    data.setLength(data.length() - 1);
                    if (!data.isEmpty() || !event.isEmpty()) {
                        events.add(new Read(id, event.isEmpty() ? "message" : event, data.toString()));
                    }
                }
                data.setLength(0);
                event = "";
                continue;
            }
            int colon = line.indexOf(':');
            String name = colon < 0 ? line : line.substring(0, colon);
            String value = colon < 0 ? "" : line.substring(colon + 1);
            value = value.startsWith(" ") ? value.substring(1) : value;
            switch (name) {
                case "data" -> data.append(value).append('\n');
                case "event" -> event = value;
                case "id" -> id = value.indexOf('\0') >= 0 ? id : value;
                default -> {}
            }
        }
        return events;
    }
}
