package dev.holdfast.json;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/** Reads the answer to {@code tools/list}, in one pass and without a tree: the names of the tools and two of their hints. */
final class ToolList {
    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(TokenStreamFactory.Feature.CANONICALIZE_PROPERTY_NAMES)
            .build();

    private ToolList() {}

    /**
     * What a server says of a tool.
     *
     * @param name its name
     * @param harmless whether it changes nothing, or nothing more when it is called once more
     */
    record Tool(String name, boolean harmless) {}

    /**
     * A part of the list.
     *
     * @param tools its tools in their order
     * @param last whether no other part follows
     */
    record Page(List<Tool> tools, boolean last) {
        private static final Page NONE = new Page(List.of(), false);
    }

    /** Returns what a response lists; nothing, and not the end of it, if it is another or cannot be read to its end. */
    static Page read(byte[] response) {
        Draft page = new Draft();
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), response)) {
            json.nextToken();
            members(json, member -> {
                if (member.equals("result")) {
                    members(json, inner -> {
                        if (inner.equals("tools")) {
                            page.listed = json.currentToken() == JsonToken.START_ARRAY;
                            tools(json, page.tools);
                        } else if (inner.equals("nextCursor")) {
                            page.more = json.currentToken() == JsonToken.VALUE_STRING;
                        }
                    });
                }
            });
            return new Page(page.tools, page.listed && !page.more);
        } catch (JacksonException e) {
            return Page.NONE;
        }
    }

    /** A page on its way to be read. */
    private static final class Draft {
        private final List<Tool> tools = new ArrayList<>();
        private boolean listed;
        private boolean more;
    }

    private static void tools(JsonParser json, List<Tool> tools) {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            return;
        }
        while (json.nextToken() != JsonToken.END_ARRAY) {
            ToolDraft draft = new ToolDraft();
            members(json, member -> draft.take(json, member));
            json.skipChildren();
            if (!draft.name.isEmpty()) {
                tools.add(new Tool(draft.name, draft.readOnly || draft.idempotent));
            }
        }
    }

    /** A tool on its way to be read. */
    private static final class ToolDraft {
        private String name = "";
        private boolean readOnly;
        private boolean idempotent;

        private void take(JsonParser json, String member) {
            if (member.equals("name") && json.currentToken() == JsonToken.VALUE_STRING) {
                name = json.getString();
            } else if (member.equals("annotations")) {
                members(json, hint -> {
                    boolean told = json.currentToken() == JsonToken.VALUE_TRUE;
                    if (hint.equals("readOnlyHint")) {
                        readOnly = told;
                    } else if (hint.equals("idempotentHint")) {
                        idempotent = told;
                    }
                });
            }
        }
    }

    /** Looks at the members of the object at hand, if it is one: the parser is at the value of each, and at the object's end after. */
    private static void members(JsonParser json, Consumer<String> look) {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            return;
        }
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = json.currentName();
            json.nextToken();
            look.accept(name);
            json.skipChildren();
        }
    }
}
