package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The pages and the examples agree. */
class ExamplesTest {
    @ParameterizedTest
    @ValueSource(strings = {"plain-sdk", "spring-ai", "spring-ai-client", "stdio", "cluster", "kill-9", "durable-task"})
    void theReadmeNamesTheCommandOfEachExample(String example) {
        assertThat(Page.at("examples/" + example + "/run").path()).isExecutable();
        assertThat(Page.at("README.md").text()).contains("examples/" + example + "/run");
    }

    @Test
    void theServerInThePageOfTheSdkIsTheExample() {
        Page server = Page.at("examples/plain-sdk/src/main/java/com/example/weather/WeatherServer.java");

        assertThat(Page.at("docs/java-sdk.md").blocks("java")).contains(server.text());
    }

    /** {@code ModulePathTest} runs it. */
    @Test
    void theApplicationInThePageOfTheUpstreamIsTheOneThatIsTested() {
        Page front = Page.at("integration-tests/src/test/modular-upstream/com/example/front/Front.java");

        assertThat(Page.at("docs/upstream.md").blocks("java")).contains(front.text());
    }
}
