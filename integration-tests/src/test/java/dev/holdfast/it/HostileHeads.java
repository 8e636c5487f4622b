package dev.holdfast.it;

import dev.holdfast.it.HostileRequest.Ending;
import dev.holdfast.it.HostileRequest.Length;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Pattern;

/** Damages the head of a request, or how long it says its body is, or leaves in the middle. */
final class HostileHeads {
    private static final List<String> METHODS = List.of(
            "GET",
            "POST",
            "DELETE",
            "PUT",
            "PATCH",
            "HEAD",
            "OPTIONS",
            "TRACE",
            "get",
            "Post",
            "DELETED",
            "M".repeat(300));
    private static final List<String> NO_METHODS =
            List.of("CONNECT", "", "\u0000", "PO ST", "P\u00d6ST", "(GET)", "\tPOST");

    private static final List<String> TARGETS = List.of(
            "/mcp",
            "/mcp/",
            "/mcp?x=y&x=z",
            "/mcp;v=1",
            "/MCP",
            "/",
            "/sse",
            "/message",
            "/message?sessionId=",
            "/message?sessionId=%",
            "/message?sessionId=%zz",
            "/message?sessionId=%C0%AF",
            "/message?sessionId=a&sessionId=b",
            "/x/../mcp",
            "/x/sse",
            "/sse/",
            "/sse?sessionId=x",
            "/mcp?" + "q".repeat(2_000),
            "/favicon.ico",
            "/mcp?%F0%28");
    private static final List<String> NO_TARGETS = List.of(
            "*",
            "mcp",
            "",
            "//mcp",
            "/%",
            "/%00",
            "/mcp%2",
            "/..;/mcp",
            "/../mcp",
            "/%2e%2e/mcp",
            "\\mcp",
            "/a\\b",
            "/mcp#f",
            "http://localhost/mcp",
            "http://evil.example/mcp",
            "http:///mcp",
            "/\u00e9",
            "/mcp mcp",
            "/" + "p".repeat(10_000),
            "/%2fmcp");

    private static final List<String> VERSIONS = List.of(
            "HTTP/1.0",
            "HTTP/0.9",
            "HTTP/1.2",
            "HTTP/2.0",
            "HTTP/9.9",
            "http/1.1",
            "HTTP/1.1 ",
            "HTTP/",
            "",
            "SIP/2.0");

    private static final List<String> NAMES = List.of(
            "Accept",
            "Content-Type",
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "Last-Event-ID",
            "Origin",
            "Cookie",
            "Authorization",
            "X-Forwarded-Prefix",
            "X-Forwarded-For",
            "X-Http-Method-Override",
            "Content-Encoding",
            "Range",
            "If-None-Match",
            "If-Modified-Since",
            "Accept-Encoding",
            "Accept-Language",
            "Cache-Control",
            "Forwarded",
            "Via",
            "Te",
            "Access-Control-Request-Method",
            "Mcp-Method",
            "Mcp-Name",
            "Sec-Fetch-Site");
    private static final List<String> VALUES = List.of(
            "",
            " ",
            "*",
            "*/*",
            "*/*;q=0",
            "application/json",
            "text/event-stream",
            "application/json;q=0, text/event-stream",
            "application/json; charset=utf-16",
            "application/json; charset=\"UTF-8\"",
            "text/plain",
            "application/jsonl",
            "application/json;;;=",
            ",,,",
            ";",
            "2026-07-28",
            "2099-01-01",
            "2025-11-25",
            "2025-11-25,2025-11-25",
            "1.0",
            "null",
            "http://localhost:3000",
            "http://evil.example",
            "https://localhost.evil.example",
            "file://",
            "gzip",
            "bytes=0-1",
            "\u00e9\u00fc",
            "\u00ff",
            "x".repeat(3_000),
            "a=b; c=\"d",
            "%00",
            "../..",
            "/prefix",
            "//evil.example",
            "/a?b",
            "${jndi:x}",
            "' or 1=1",
            "0",
            "-1",
            "99999999999999999999",
            "0.0.0.0.0",
            "1.1.1.1.1",
            ".",
            "....",
            "-1.-1.-1.-1.-1",
            "zzzzzz.zzzzzz.zzzzzz.zzzzzz.zzzzzz",
            "1.0.1.zik0zj.zzzzzzzzzzzzz");

    private static final List<String> SPOILED_LINES = List.of(
            "no colon",
            ": no name",
            " folded",
            "X : y",
            "X\u0000Y: z",
            "X: a\u0000b",
            "X: a\rb",
            "X\u00e9: y",
            "X(): y",
            "Host: evil.example",
            "Host: localhost",
            "Host:",
            "Host: a b",
            "Host: localhost:99999",
            "Transfer-Encoding : chunked",
            "Expect: 100-continue",
            "Expect: 200-ok",
            "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQ",
            "Connection: close",
            "Connection: keep-alive, Host",
            "Content-Length: 5",
            "X: " + "h".repeat(9_000),
            "X: y\n\nZ: w",
            "Trailer: X",
            "Connection: Upgrade\r\nUpgrade: websocket");

    private static final String ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

    /** What every container takes for a target. */
    private static final Pattern TARGET = Pattern.compile("/[A-Za-z0-9/?&=._~,:;%*'@!+-]{0,3000}");

    /** How long a head may be that every container takes. */
    private static final int SAFE_SIZE = 5_000;

    private static final List<Length> WRONG_LENGTHS = Arrays.stream(Length.values())
            .filter(length -> length != Length.RIGHT && length != Length.CHUNKED)
            .toList();

    private final HostileLoot loot;

    HostileHeads(HostileLoot loot) {
        this.loot = loot;
    }

    void spoil(HostileRequest request, SplittableRandom random) {
        change(request, random);
        long hosts = request.headers.stream().filter(HostileHeads::host).count();
        int size = request.headers.stream().mapToInt(String::length).sum();
        if (hosts != 1 || size > SAFE_SIZE || !TARGET.matcher(request.target).matches()) {
            request.spoilHead();
        }
    }

    private static boolean host(String line) {
        return line.regionMatches(true, 0, "Host:", 0, 5);
    }

    private void change(HostileRequest request, SplittableRandom random) {
        switch (random.nextInt(25)) {
            case 0, 1 -> request.method = any(METHODS, random);
            case 2, 3 -> request.target = any(TARGETS, random);
            case 4 -> request.target = "/message?sessionId=" + id(random);
            case 5, 6 -> duplicate(request, random);
            case 7, 8 -> remove(request, random);
            case 9, 10, 11, 12 -> add(request, any(NAMES, random), any(VALUES, random), random);
            case 13, 14, 15 -> set(request, "Mcp-Session-Id", id(random));
            case 16, 17 -> set(request, "Last-Event-ID", event(random));
            case 18, 19 -> set(request, "MCP-Protocol-Version", any(VALUES, random));
            case 20 -> set(request, "Accept", any(VALUES, random));
            case 21 -> set(request, "Content-Type", any(VALUES, random));
            case 22 -> otherCase(request, random);
            case 23 -> request.length = Length.CHUNKED;
            default -> violent(request, random);
        }
    }

    /** What ends a connection as a rule: rarer, since it says less of us than of containers. */
    private static void violent(HostileRequest request, SplittableRandom random) {
        switch (random.nextInt(9)) {
            case 0 -> many(request, random);
            case 1 -> length(request, random);
            case 2, 3 -> cut(request, random);
            case 4 -> request.end(random.nextBoolean() ? Ending.FIN : Ending.RST);
            default -> hard(request, random);
        }
    }

    /** What a container may answer itself. */
    private static void hard(HostileRequest request, SplittableRandom random) {
        request.spoilHead();
        switch (random.nextInt(8)) {
            case 0 -> request.method = any(NO_METHODS, random);
            case 1, 2 -> request.target = any(NO_TARGETS, random);
            case 3 -> request.version = any(VERSIONS, random);
            default -> request.headers.add(random.nextInt(request.headers.size() + 1), any(SPOILED_LINES, random));
        }
    }

    private static void length(HostileRequest request, SplittableRandom random) {
        request.spoilHead();
        request.length = WRONG_LENGTHS.get(random.nextInt(WRONG_LENGTHS.size()));
    }

    private static void cut(HostileRequest request, SplittableRandom random) {
        request.goodHead = false;
        request.share = random.nextDouble();
        request.end(random.nextInt(3) == 0 ? Ending.HALF_CLOSE : random.nextBoolean() ? Ending.FIN : Ending.RST);
    }

    private static void many(HostileRequest request, SplittableRandom random) {
        request.spoilHead();
        int count = 20 + random.nextInt(200);
        for (int i = 0; i < count; i++) {
            request.with("X-" + i, "v");
        }
    }

    private static void duplicate(HostileRequest request, SplittableRandom random) {
        if (!request.headers.isEmpty()) {
            request.headers.add(any(request.headers, random));
        }
    }

    private static void remove(HostileRequest request, SplittableRandom random) {
        if (!request.headers.isEmpty()) {
            request.headers.remove(random.nextInt(request.headers.size()));
        }
    }

    private static void add(HostileRequest request, String name, String value, SplittableRandom random) {
        request.headers.add(random.nextInt(request.headers.size() + 1), name + ": " + value);
    }

    private static void set(HostileRequest request, String name, String value) {
        request.headers.removeIf(line -> line.startsWith(name));
        request.with(name, value);
    }

    private static void otherCase(HostileRequest request, SplittableRandom random) {
        if (!request.headers.isEmpty()) {
            int at = random.nextInt(request.headers.size());
            String line = request.headers.get(at);
            int colon = Math.max(0, line.indexOf(':'));
            String name = line.substring(0, colon);
            request.headers.set(
                    at,
                    (random.nextBoolean()
                                    ? name.toUpperCase(java.util.Locale.ROOT)
                                    : name.toLowerCase(java.util.Locale.ROOT))
                            + line.substring(colon));
        }
    }

    /** The id of a session: of another, of another face, of none, or nearly one. */
    private String id(SplittableRandom random) {
        String known = random.nextBoolean() ? loot.session(random) : loot.sseSession(random);
        return switch (random.nextInt(7)) {
            case 0, 1 -> known;
            case 2 -> changed(known, random);
            case 3 -> known.substring(0, random.nextInt(known.length()));
            case 4 -> known + ALPHABET.charAt(random.nextInt(ALPHABET.length()));
            case 5 -> known + "," + known;
            default -> any(VALUES, random);
        };
    }

    private String event(SplittableRandom random) {
        String known = loot.event(random);
        return switch (random.nextInt(7)) {
            case 0, 1 -> known;
            case 2, 3 -> changed(known, random);
            case 4 -> loot.sseSession(random) + "." + known;
            case 5 -> known + "0";
            default -> any(VALUES, random);
        };
    }

    private static String changed(String id, SplittableRandom random) {
        int at = random.nextInt(id.length());
        return id.substring(0, at) + ALPHABET.charAt(random.nextInt(ALPHABET.length())) + id.substring(at + 1);
    }

    private static String any(List<String> of, SplittableRandom random) {
        return of.get(random.nextInt(of.size()));
    }
}
