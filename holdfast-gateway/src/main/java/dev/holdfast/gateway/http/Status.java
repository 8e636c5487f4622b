package dev.holdfast.gateway.http;

import dev.holdfast.EngineStats;
import dev.holdfast.engine.SessionEngine;
import io.modelcontextprotocol.json.McpJsonDefaults;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** How the gateway is, as JSON. */
final class Status {
    private static final int UNAVAILABLE = 503;

    private Status() {}

    /**
     * Whether clients should come: 200, or 503 once the gateway drains and wants no new ones. A store that cannot write is no reason
     * for 503: what runs goes on, and a restart gives the disk no room.
     */
    static Page health(SessionEngine engine, StoreHealth store) {
        boolean draining = engine.draining();
        StoreHealth present = engine.mayWrite() ? store : store.withoutLease();
        String well = present.state() == StoreHealth.State.WELL ? "ok" : "degraded";
        return Page.json(
                draining ? UNAVAILABLE : Page.OK,
                "{\"status\":\"" + (draining ? "draining" : well) + "\",\"sessions\":" + engine.size() + ",\"store\":"
                        + present.json() + "}");
    }

    /** What the engine holds and has counted, by the names of {@link EngineStats}. */
    static Page stats(SessionEngine engine) {
        EngineStats stats = engine.stats();
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("sessions", stats.sessions());
        members.put("states", new TreeMap<>(stats.states()));
        members.put("connections", stats.connections());
        members.put("parked", stats.parked());
        members.put("runningCalls", stats.runningCalls());
        members.put("historyBytes", stats.historyBytes());
        members.put("historyEvents", stats.historyEvents());
        members.put("created", stats.created());
        members.put("ended", new TreeMap<>(stats.ended()));
        members.put("refused", new TreeMap<>(stats.refused()));
        members.put("gaps", stats.gaps());
        members.put("dropped", stats.dropped());
        members.put("unsolicited", stats.unsolicited());
        members.put("timedOut", stats.timedOut());
        members.put("listened", stats.listened());
        members.put("resumed", stats.resumed());
        members.put("superseded", stats.superseded());
        members.put("replayed", stats.replayed());
        members.put("restored", stats.restored());
        members.put("writeStalls", new TreeMap<>(stats.writeStalls()));
        try {
            return Page.json(Page.OK, McpJsonDefaults.getMapper().writeValueAsString(members));
        } catch (IOException e) {
            throw new UncheckedIOException("the stats could not be written", e);
        }
    }
}
