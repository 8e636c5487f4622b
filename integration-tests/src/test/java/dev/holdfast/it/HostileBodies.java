package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Damages JSON: its bytes, its tokens, its values and its shape. Text stands for bytes. */
final class HostileBodies {
    private static final Pattern MEMBER = Pattern.compile("\"[A-Za-z_]+\":");

    private static final List<String> VALUES = List.of(
            "null",
            "true",
            "0",
            "-0",
            "-1",
            "1.5",
            "1e400",
            "-1E-400",
            "9223372036854775808",
            "1".repeat(70),
            "1".repeat(5_000),
            "\"\"",
            "\"\\u0000\"",
            "\"\\ud800\"",
            "\"\\udc00\\ud800\"",
            utf8("\"\u00e9\u65e5\ud83d\ude00\""),
            "\"" + "x".repeat(600) + "\"",
            "\"" + "y".repeat(20_000) + "\"",
            "{}",
            "[]",
            "[[]]",
            "{\"a\":{\"b\":[1,2,{}]}}",
            "[".repeat(300) + "]".repeat(300),
            "{\"a\":".repeat(250) + "1" + "}".repeat(250),
            "\"2.0\"",
            "\"1.0\"",
            "\"initialize\"",
            "\"tools/call\"",
            "\"notifications/cancelled\"",
            "\"2026-07-28\"",
            "\"2025-03-26\"",
            "NaN",
            "Infinity",
            "undefined",
            "'x'",
            "0x1F",
            "01",
            "+1",
            ".5",
            "1.",
            "\"\\x41\"",
            "\"\\u12\"",
            "\"tab\tin\"",
            "\"\u0001\"");

    private static final List<String> FRAGMENTS = List.of(
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\",
            "\u0000",
            "\r\n",
            " ",
            "\u00ef\u00bb\u00bf",
            "\u00ff",
            "\u00c0\u00af",
            "\u00ed\u00a0\u0080",
            "\u00f4\u0090\u0080\u0080",
            "/*x*/",
            "//x\n",
            "\"id\":1,",
            "\"id\":null,",
            "\"method\":\"ping\",",
            "\"result\":{},",
            "\"error\":{},",
            "\"jsonrpc\":\"2.0\",",
            "\"params\":[],",
            "\"\\u0069d\":2,",
            "\"_meta\":{\"progressToken\":[]},",
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"},");

    String spoil(String body, SplittableRandom random) {
        int at = random.nextInt(body.length() + 1);
        int to = at + random.nextInt(Math.min(body.length() - at, 12) + 1);
        String fragment = FRAGMENTS.get(random.nextInt(FRAGMENTS.size()));
        return switch (random.nextInt(16)) {
            case 0 -> flipped(body, random);
            case 1 -> body.substring(0, at);
            case 2 -> body.substring(0, at) + body.substring(to);
            case 3 -> body.substring(0, at) + fragment + body.substring(at);
            case 4 -> body.substring(0, at) + fragment + body.substring(to);
            case 5 -> body.substring(0, to) + body.substring(at);
            case 6 -> fragment + body;
            case 7 -> body + fragment;
            case 8 -> body + body;
            case 9 -> new String(body.getBytes(java.nio.charset.StandardCharsets.UTF_16), ISO_8859_1);
            case 10 -> wrapped(body, random);
            case 11 -> swapped(body, random);
            case 12 -> repeated(body, random);
            default -> replaced(body, random);
        };
    }

    private static String flipped(String body, SplittableRandom random) {
        if (body.isEmpty()) {
            return body;
        }
        int at = random.nextInt(body.length());
        char c = (char) (body.charAt(at) ^ 1 << random.nextInt(8));
        return body.substring(0, at) + c + body.substring(at + 1);
    }

    private static String wrapped(String body, SplittableRandom random) {
        int levels = random.nextInt(8) == 0 ? 150 + random.nextInt(100) : 1 + random.nextInt(3);
        return random.nextBoolean()
                ? "[".repeat(levels) + body + "]".repeat(levels)
                : "{\"params\":".repeat(levels) + body + "}".repeat(levels);
    }

    /** Another value for one of the members. */
    private static String replaced(String body, SplittableRandom random) {
        int from = value(body, random);
        return from < 0
                ? any(VALUES, random)
                : body.substring(0, from) + any(VALUES, random) + body.substring(end(body, from));
    }

    /** One of the members once more, with another value. */
    private static String repeated(String body, SplittableRandom random) {
        int from = value(body, random);
        if (from < 0) {
            return body;
        }
        int name = body.lastIndexOf('"', from - 3);
        return name < 0
                ? body
                : body.substring(0, name) + body.substring(name, from) + any(VALUES, random) + ","
                        + body.substring(name);
    }

    /** The values of two members, each in the place of the other. */
    private static String swapped(String body, SplittableRandom random) {
        int one = value(body, random);
        int other = value(body, random);
        int first = Math.min(one, other);
        int second = Math.max(one, other);
        if (first < 0 || end(body, first) > second) {
            return body;
        }
        return body.substring(0, first)
                + body.substring(second, end(body, second))
                + body.substring(end(body, first), second)
                + body.substring(first, end(body, first))
                + body.substring(end(body, second));
    }

    /** Where the value of one of the members begins; -1 if there is none. */
    private static int value(String body, SplittableRandom random) {
        Matcher members = MEMBER.matcher(body);
        int found = -1;
        for (int seen = 1; members.find(); seen++) {
            if (random.nextInt(seen) == 0) {
                found = members.end();
            }
        }
        return found;
    }

    /** Where the value that begins there ends, near enough. */
    private static int end(String body, int from) {
        int depth = 0;
        boolean quoted = false;
        for (int i = from; i < body.length(); i++) {
            char c = body.charAt(i);
            if (quoted) {
                i += c == '\\' ? 1 : 0;
                quoted = c != '"';
            } else if (c == '"') {
                quoted = true;
            } else if (c == '{' || c == '[') {
                depth++;
            } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
                return i;
            } else if (c == '}' || c == ']') {
                depth--;
            }
        }
        return body.length();
    }

    private static String any(List<String> of, SplittableRandom random) {
        return of.get(random.nextInt(of.size()));
    }

    private static String utf8(String text) {
        return new String(text.getBytes(UTF_8), ISO_8859_1);
    }
}
