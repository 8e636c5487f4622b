package dev.holdfast.it;

import java.util.List;
import java.util.SplittableRandom;

/** Makes requests as clients make them, on both faces, and then has them spoiled: none, one or a few changes each. */
final class HostileGrammar {
    private static final List<String> REVISIONS = List.of("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05");

    private final HostileLoot loot;
    private final HostileHeads heads;
    private final HostileBodies bodies = new HostileBodies();
    private final int port;

    HostileGrammar(HostileLoot loot, int port) {
        this.loot = loot;
        this.port = port;
        this.heads = new HostileHeads(loot);
    }

    /** The request of a seed, but for the ids of sessions and events, which are those at hand. */
    HostileRequest request(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        HostileRequest request = valid(random);
        for (int changes = changes(random); changes > 0; changes--) {
            if (request.body.isEmpty() || random.nextInt(5) < 2) {
                heads.spoil(request, random);
            } else {
                request.body = bodies.spoil(request.body, random);
            }
        }
        return request;
    }

    private static int changes(SplittableRandom random) {
        int chance = random.nextInt(100);
        return chance < 10 ? 0 : chance < 60 ? 1 : chance < 83 ? 2 : chance < 93 ? 3 : 4 + random.nextInt(4);
    }

    private HostileRequest valid(SplittableRandom random) {
        int chance = random.nextInt(1000);
        if (chance < 20) {
            return post("initialize", initialize(random));
        } else if (chance < 60) {
            return session(get("GET", "/mcp"), random);
        } else if (chance < 90) {
            return session(get("GET after an event", "/mcp"), random).with("Last-Event-ID", loot.event(random));
        } else if (chance < 100) {
            return session(to("DELETE", "DELETE", "/mcp", ""), random);
        } else if (chance < 110) {
            return get("GET of HTTP+SSE", "/sse");
        } else if (chance < 120) {
            String event = loot.sseSession(random) + "." + loot.event(random);
            return get("GET of HTTP+SSE after an event", "/sse").with("Last-Event-ID", event);
        } else if (chance < 200) {
            String target = "/message?sessionId=" + loot.sseSession(random);
            return to("POST of HTTP+SSE", "POST", target, message(random)).with("Content-Type", "application/json");
        }
        return session(post("POST", message(random)), random);
    }

    private HostileRequest session(HostileRequest request, SplittableRandom random) {
        String revision = REVISIONS.get(random.nextInt(REVISIONS.size()));
        return request.with("Mcp-Session-Id", loot.session(random)).with("MCP-Protocol-Version", revision);
    }

    private HostileRequest post(String name, String body) {
        return to(name, "POST", "/mcp", body)
                .with("Content-Type", "application/json")
                .with("Accept", "application/json, text/event-stream");
    }

    private HostileRequest get(String name, String target) {
        return to(name, "GET", target, "").with("Accept", "text/event-stream");
    }

    private HostileRequest to(String name, String method, String target, String body) {
        return new HostileRequest(name, method, target, body).with("Host", "localhost:" + port);
    }

    private static String initialize(SplittableRandom random) {
        return Json.initialize(REVISIONS.get(random.nextInt(REVISIONS.size())));
    }

    private static String message(SplittableRandom random) {
        int chance = random.nextInt(100);
        if (chance < 8) {
            StringBuilder batch = new StringBuilder("[");
            for (int left = random.nextInt(4); left >= 0; left--) {
                batch.append(single(random)).append(left == 0 ? "]" : ",");
            }
            return batch.toString();
        }
        return single(random);
    }

    private static String single(SplittableRandom random) {
        String id = id(random);
        return switch (random.nextInt(14)) {
            case 0, 1, 2 -> Json.echo(id, "hello");
            case 3 -> Json.callWithProgress(id, "echo");
            case 4 -> Json.call(id, "nosuchtool");
            case 5 -> Json.request(id, "tools/list", "{\"cursor\":\"x\"}");
            case 6 -> Json.request(id, "ping", "{}");
            case 7 -> Json.request(id, "logging/setLevel", "{\"level\":\"debug\"}");
            case 8 -> Json.request(id, "resources/subscribe", "{\"uri\":\"test://a/b\"}");
            case 9 -> Json.notification("notifications/initialized", "{}");
            case 10 -> Json.notification("notifications/cancelled", "{\"requestId\":" + id + ",\"reason\":\"r\"}");
            case 11 ->
                Json.notification(
                        "notifications/progress", "{\"progressToken\":" + id + ",\"progress\":0.5,\"total\":1}");
            case 12 -> Json.answer(id, "{\"roots\":[]}");
            default -> "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"error\":{\"code\":-32601,\"message\":\"no\"}}";
        };
    }

    private static String id(SplittableRandom random) {
        int number = random.nextInt(1_000_000_000);
        return random.nextBoolean() ? Integer.toString(number) : "\"" + Integer.toString(number, 36) + "\"";
    }
}
