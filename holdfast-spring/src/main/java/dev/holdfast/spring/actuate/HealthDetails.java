package dev.holdfast.spring.actuate;

import dev.holdfast.EngineStats;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.mcp.HoldfastTransportProvider;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the health indicators of both generations of Spring Boot tell beside the status. */
final class HealthDetails {
    private HealthDetails() {}

    static Map<String, Object> of(HoldfastTransportProvider transport) {
        SessionEngine engine = transport.engine();
        EngineStats stats = engine.stats();
        Map<String, Object> details = new LinkedHashMap<>();
        engine.storeTrouble().ifPresent(words -> details.put("storeTrouble", words));
        details.put("sessions", stats.sessions());
        details.put("parked", stats.parked());
        details.put("streams", transport.openConnections());
        details.put("runningCalls", stats.runningCalls());
        details.put("storeSurvives", engine.durability());
        details.put("mayWrite", engine.mayWrite());
        return details;
    }
}
