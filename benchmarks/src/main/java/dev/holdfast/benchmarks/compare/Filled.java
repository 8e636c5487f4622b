package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.result.ScenarioResult;
import java.io.IOException;
import java.util.List;

/**
 * A scenario for which a folder is filled with sessions before.
 *
 * @param filling the server that fills it
 */
record Filled(Scenario scenario, Peer filling, int sessions) implements Scenario {

    @Override
    public String name() {
        return scenario.name();
    }

    @Override
    public String title() {
        return scenario.title();
    }

    @Override
    public List<ScenarioResult> run(Settings settings) throws IOException, InterruptedException {
        try (ServerProcess server =
                ServerProcess.start(filling, settings.scratch()).ready()) {
            server.target().fill(sessions);
        }
        return scenario.run(settings);
    }
}
