package dev.holdfast.json;

import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * What an answer to {@code tools/list} says of its tools.
 *
 * @param tools those of this page, in their order
 * @param last whether no other page follows
 */
record ToolList(List<Tool> tools, boolean last) {
    /**
     * What a server says of a tool.
     *
     * @param name its name
     * @param harmless whether it changes nothing, or nothing more when it is called once more
     */
    record Tool(String name, boolean harmless) {}

    /** Reads a response in one pass; one that is another, or cannot be read to its end, lists nothing, and not the end of it. */
    static ToolList read(byte[] response) {
        Draft page = new Draft();
        boolean whole = JsonPeek.read(response, (member, result) -> {
            if (member.equals("result")) {
                JsonPeek.members(result, page::take);
            }
        });
        return whole ? new ToolList(page.tools, page.listed && !page.more) : new ToolList(List.of(), false);
    }

    /** A page on its way to be read, and the tool at hand. */
    private static final class Draft {
        private final List<Tool> tools = new ArrayList<>();
        private boolean listed;
        private boolean more;
        private String name = "";
        private boolean readOnly;
        private boolean idempotent;

        private void take(String member, JsonParser value) {
            if (member.equals("tools")) {
                listed = value.currentToken() == JsonToken.START_ARRAY;
                while (listed && value.nextToken() != JsonToken.END_ARRAY) {
                    tool(value);
                }
            } else if (member.equals("nextCursor")) {
                more = JsonPeek.isString(value);
            }
        }

        private void tool(JsonParser tool) {
            name = "";
            readOnly = false;
            idempotent = false;
            JsonPeek.members(tool, (member, value) -> {
                if (member.equals("name") && JsonPeek.isString(value)) {
                    name = value.getString();
                } else if (member.equals("annotations")) {
                    JsonPeek.members(value, this::hint);
                }
            });
            tool.skipChildren();
            if (!name.isEmpty()) {
                tools.add(new Tool(name, readOnly || idempotent));
            }
        }

        private void hint(String hint, JsonParser value) {
            boolean told = value.currentToken() == JsonToken.VALUE_TRUE;
            if (hint.equals("readOnlyHint")) {
                readOnly = told;
            } else if (hint.equals("idempotentHint")) {
                idempotent = told;
            }
        }
    }
}
