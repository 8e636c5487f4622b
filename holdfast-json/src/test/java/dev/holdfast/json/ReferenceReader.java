package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.core.json.JsonFactory;

/**
 * The slow way to read an envelope, which shares no code with the fast one: the JDK decodes the body, a parser of characters
 * reads every token of it into a tree that keeps repeated members, and the rules are asked of the tree.
 */
final class ReferenceReader {
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(EnvelopeReader.DEFAULT_MAX_DEPTH)
                    .build())
            .build();

    /** A string; one with a group is a name. */
    private static final Pattern STRING = Pattern.compile("\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+\"([ \\t\\r\\n]*+:)?");

    private static final Pattern HALF = Pattern.compile("(?i)\\G((?:\\\\u(?!d[89a-f])|\\\\[^u]|[^\\\\]"
            + "|\\\\ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2})*+)\\\\ud[89a-f][0-9a-f]{2}");

    private ReferenceReader() {}

    /** An object with all values of each member, in order. */
    private record Tree(Map<String, List<Object>> members) {
        List<Object> all(String name) {
            return members.getOrDefault(name, List.of());
        }

        /** The first value of the member, unless it is missing or null. */
        Optional<Object> first(String name) {
            return all(name).stream().findFirst().filter(value -> value != Other.NULL);
        }

        Tree object(String name) {
            return first(name)
                    .filter(Tree.class::isInstance)
                    .map(Tree.class::cast)
                    .orElse(new Tree(Map.of()));
        }

        Optional<String> text(String name) {
            return first(name).filter(String.class::isInstance).map(String.class::cast);
        }

        Optional<String> id(String name) {
            return first(name).flatMap(ReferenceReader::id);
        }

        boolean repeats(String... names) {
            return Stream.of(names).anyMatch(name -> all(name).size() > 1);
        }
    }

    private record Whole(String digits) {}

    private enum Other {
        NULL,
        SOMETHING
    }

    /** Says in one line what the body is: {@code no JSON}, {@code no message}, or the facts of each message. */
    static String describe(byte[] body) {
        Object tree;
        try {
            String text = UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
            tree = parse(wholeNames(text.startsWith("\uFEFF") ? text.substring(1) : text));
        } catch (CharacterCodingException | JacksonException e) {
            return "no JSON";
        }
        if (!(tree instanceof List<?> batch)) {
            return describe(tree).orElse("no message");
        }
        List<String> messages = new ArrayList<>();
        for (Object element : batch) {
            Optional<String> message = describe(element);
            if (message.isEmpty() || (message.get().startsWith("REQUEST") && repeatsId(message.get(), messages))) {
                return "no message";
            }
            messages.add(message.get());
        }
        boolean fits = !messages.isEmpty() && messages.size() <= EnvelopeReader.DEFAULT_MAX_BATCH;
        return fits ? String.join("\n", messages) : "no message";
    }

    /** Says the same of what the reader under test has found. */
    static String describe(Envelope message) {
        return facts(
                message.kind(),
                message.method(),
                message.id().map(Object::toString),
                message.progressToken().map(Object::toString),
                message.cancelledRequest().map(Object::toString),
                message.protocolVersion(),
                message.modernVersion(),
                message.uri());
    }

    private static boolean repeatsId(String message, List<String> earlier) {
        String id = message.split(" @ ", -1)[2];
        return earlier.stream().anyMatch(other -> other.startsWith("REQUEST") && other.split(" @ ", -1)[2].equals(id));
    }

    private static Optional<String> describe(Object element) {
        if (!(element instanceof Tree message)
                || message.repeats("jsonrpc", "id", "method", "params", "result", "error")
                || !message.text("jsonrpc").equals(Optional.of("2.0"))) {
            return Optional.empty();
        }
        Tree params = message.object("params");
        Tree result = message.object("result");
        Tree meta = params.object("_meta");
        boolean repeats = params.repeats("_meta", "progressToken", "requestId", "protocolVersion", "uri")
                || meta.repeats("progressToken", Envelope.MODERN_VERSION)
                || result.repeats("protocolVersion");
        boolean wrongTypes = Stream.of("params", "error")
                        .anyMatch(name -> message.all(name).stream()
                                .anyMatch(value -> !(value instanceof Tree) && value != Other.NULL))
                || (!message.all("method").isEmpty()
                        && message.text("method")
                                .filter(name -> !name.isEmpty() && name.length() <= 512)
                                .isEmpty())
                || (message.first("id").isPresent() && message.id("id").isEmpty());
        if (repeats || wrongTypes) {
            return Optional.empty();
        }
        return kind(message).map(kind -> {
            String method = message.text("method").orElse("");
            boolean progress = kind == Envelope.Kind.NOTIFICATION && method.equals("notifications/progress");
            boolean cancels = kind == Envelope.Kind.NOTIFICATION && method.equals("notifications/cancelled");
            return facts(
                    kind,
                    method,
                    message.id("id"),
                    progress
                            ? params.id("progressToken")
                            : kind == Envelope.Kind.REQUEST ? meta.id("progressToken") : Optional.empty(),
                    cancels ? params.id("requestId") : Optional.empty(),
                    (method.equals("initialize") ? params : result).text("protocolVersion"),
                    meta.text(Envelope.MODERN_VERSION),
                    params.text("uri"));
        });
    }

    private static Optional<Envelope.Kind> kind(Tree message) {
        boolean noId = message.all("id").isEmpty();
        boolean id = message.first("id").isPresent();
        boolean result = message.first("result").isPresent();
        boolean nullResult = message.all("result").contains(Other.NULL);
        boolean error = message.first("error").isPresent();
        if (message.text("method").isPresent()) {
            Envelope.Kind kind = id ? Envelope.Kind.REQUEST : Envelope.Kind.NOTIFICATION;
            return result || error || !(id || noId) ? Optional.empty() : Optional.of(kind);
        }
        if (error) {
            return result ? Optional.empty() : Optional.of(Envelope.Kind.ERROR);
        }
        return (result || nullResult) && id ? Optional.of(Envelope.Kind.RESPONSE) : Optional.empty();
    }

    @SafeVarargs
    private static String facts(Envelope.Kind kind, String method, Optional<String>... others) {
        StringBuilder facts = new StringBuilder().append(kind).append(" @ ").append(method);
        for (Optional<String> other : others) {
            facts.append(" @ ").append(other.orElse("-"));
        }
        return facts.toString();
    }

    private static Optional<String> id(Object value) {
        if (value instanceof String text) {
            return text.length() <= 512 ? Optional.of(JsonText.quoted(text)) : Optional.empty();
        }
        if (value instanceof Whole whole && whole.digits().length() <= 64) {
            return Optional.of(whole.digits().equals("-0") ? "0" : whole.digits());
        }
        return Optional.empty();
    }

    /** The parser refuses half a character in a name; nothing depends on which one it is. */
    private static String wholeNames(String text) {
        return STRING.matcher(text)
                .replaceAll(string -> Matcher.quoteReplacement(
                        string.group(1) == null
                                ? string.group()
                                : HALF.matcher(string.group()).replaceAll("$1?")));
    }

    private static Object parse(String text) {
        try (JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), text)) {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw new StreamReadException(parser, "empty");
            }
            Object value = value(parser);
            if (parser.nextToken() != null) {
                throw new StreamReadException(parser, "goes on");
            }
            return value;
        }
    }

    private static Object value(JsonParser parser) {
        return switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, List<Object>> members = new LinkedHashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.currentName();
                    parser.nextToken();
                    members.computeIfAbsent(name, any -> new ArrayList<>()).add(value(parser));
                }
                yield new Tree(members);
            }
            case START_ARRAY -> {
                List<Object> elements = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    elements.add(value(parser));
                }
                yield elements;
            }
            case VALUE_STRING -> parser.getString();
            case VALUE_NUMBER_INT -> new Whole(parser.getString());
            case VALUE_NULL -> Other.NULL;
            default -> Other.SOMETHING;
        };
    }
}
