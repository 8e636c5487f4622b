package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** An application is told what it gets and has not asked for. */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(120)
class UnaskedTest {
    private static final String TOLD = "Streamable HTTP is served at /mcp beside HTTP+SSE";

    @Test
    void aPathBesideThoseOfHttpSseIsTold(CapturedOutput output) {
        Applications.start(
                        AiApplication.class,
                        InterceptorsTest.LOG,
                        "--spring.ai.mcp.server.protocol=SSE",
                        "--holdfast.sse.enabled=true")
                .close();
        assertThat(output).contains(TOLD);
    }

    @Test
    void aPathThatIsNamedIsNot(CapturedOutput output) {
        Applications.start(
                        AiApplication.class,
                        InterceptorsTest.LOG,
                        "--spring.ai.mcp.server.protocol=SSE",
                        "--holdfast.sse.enabled=true",
                        "--holdfast.mcp-endpoint=/mcp")
                .close();
        Applications.start(AiApplication.class, InterceptorsTest.LOG, "--holdfast.sse.enabled=true")
                .close();
        assertThat(output).doesNotContain(TOLD);
    }
}
