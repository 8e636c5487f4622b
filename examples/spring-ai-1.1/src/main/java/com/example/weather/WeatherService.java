package com.example.weather;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.springaicommunity.mcp.annotation.McpTool;
import org.springaicommunity.mcp.annotation.McpToolParam;
import org.springaicommunity.mcp.context.McpSyncRequestContext;
import org.springframework.stereotype.Service;

@Service
public class WeatherService {
    private static final int STEPS = 5;
    private static final int STEP_MILLIS = 300;

    private final AtomicInteger runs = new AtomicInteger();

    @McpTool(name = "forecast", description = "Computes the weather of tomorrow, which takes its time")
    public String forecast(
            McpSyncRequestContext context, @McpToolParam(description = "The name of a city") String city)
            throws InterruptedException {
        int run = runs.incrementAndGet();
        for (int step = 1; step <= STEPS; step++) {
            TimeUnit.MILLISECONDS.sleep(STEP_MILLIS);
            double done = step;
            context.progress(progress -> progress.progress(done).total(STEPS));
        }
        return "run=" + run + ": sunny in " + city;
    }
}
