package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.RequestId;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModernAnswerTest {
    private static final RequestId ID = new RequestId("\"its own\"");
    private static final String SERVER = "{\"name\":\"test\"}";
    private static final String META = "\"io.modelcontextprotocol/serverInfo\":" + SERVER;

    private static ModernAnswer answer(String method, String legacy) {
        return ModernAnswer.of(legacy.getBytes(UTF_8), method, ID, SERVER);
    }

    private static String text(String method, String legacy) {
        return new String(answer(method, legacy).bytes(), UTF_8);
    }

    @Test
    void aResultHasWhatEveryResultHas() {
        assertThat(text("tools/call", "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{\"content\":[{\"id\":17}]}}"))
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":\"its own\",\"result\":{\"resultType\":\"complete\",\"_meta\":{"
                        + META + "},\"content\":[{\"id\":17}]}}");
    }

    @Test
    void aResultThatMayBeKeptSaysForHowLong() {
        assertThat(text("tools/list", "{\"result\":{\"tools\":[]},\"id\":17,\"jsonrpc\":\"2.0\"}"))
                .isEqualTo("{\"result\":{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{"
                        + META + "},\"tools\":[]},\"id\":\"its own\",\"jsonrpc\":\"2.0\"}");
    }

    @Test
    void whatAServerSaysItselfStays() {
        String said =
                "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{\"ttlMs\":5,\"cacheScope\":\"public\",\"resultType\":\"other\","
                        + "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{}}}}";

        assertThat(text("tools/list", said)).isEqualTo(said.replace("17", "\"its own\""));
    }

    @Test
    void anEmptyResultAndMetaAreFilled() {
        assertThat(text("tools/call", "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{}}"))
                .endsWith("\"result\":{\"resultType\":\"complete\",\"_meta\":{" + META + "}}}");
        assertThat(text("tools/call", "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{ \"_meta\" : {} }}"))
                .endsWith("\"result\":{\"resultType\":\"complete\", \"_meta\" : {" + META + "} }}");
        assertThat(text("tools/call", "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{\"_meta\":{\"a\":1}}}"))
                .endsWith("\"_meta\":{" + META + ",\"a\":1}}}");
    }

    @ParameterizedTest
    @CsvSource({
        "-32601, -32601",
        "-32002, -32602",
        "-32021, -32021",
        "-32042, -32603",
        "-32099, -32603",
        "-32000, -32000",
        "-31000, -31000"
    })
    void anErrorHasTheCodeThatItHasThere(int legacy, int modern) {
        ModernAnswer answer = answer(
                "tools/call",
                "{\"jsonrpc\":\"2.0\",\"id\":17,\"error\":{\"code\":" + legacy
                        + ",\"message\":\"no \\\"way\\\"\",\"data\":[1]}}");

        assertThat(answer.code()).isEqualTo(modern);
        assertThat(new String(answer.bytes(), UTF_8))
                .startsWith("{\"jsonrpc\":\"2.0\",\"id\":\"its own\",\"error\":{\"code\":" + modern
                        + ",\"message\":\"no \\\"way\\\"\",\"data\":")
                .contains("[1]");
    }

    @Test
    void textBeyondAsciiStays() {
        assertThat(text("tools/call", "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{\"ü\":\"世\\n\"},\"é\":1}"))
                .endsWith("\"ü\":\"世\\n\"},\"é\":1}");
    }

    @Test
    void anAnswerMayBeDeepAndLong() {
        String deep = "[".repeat(990) + "]".repeat(990);
        String value = "x".repeat(21_000_000);
        String said = "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{\"" + "n".repeat(60_000) + "\":" + deep
                + ",\"long\":\"" + value + "\"}}";

        assertThat(text("tools/call", said))
                .startsWith("{\"jsonrpc\":\"2.0\",\"id\":\"its own\",\"result\":{\"resultType\"")
                .endsWith(deep + ",\"long\":\"" + value + "\"}}");
    }

    @Test
    void anAnswerThatCannotBeReadIsAnErrorOfTheClientsRequest() {
        String deep = "[".repeat(1_100) + "]".repeat(1_100);

        ModernAnswer answer =
                answer("tools/call", "{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{\"deep\":" + deep + "}}");

        assertThat(answer.code()).isEqualTo(-32603);
        assertThat(new String(answer.bytes(), UTF_8)).contains("\"id\":\"its own\"", "-32603", "cannot be read");
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 16_000, 40_000})
    void theNamesOfAnswersAreForgotten(int length) {
        long before = usedMemory();
        for (int i = 0; i < 6_000; i++) {
            String name = i + "-".repeat(length);
            assertThat(answer("tools/call", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"" + name + "\":1}}")
                            .code())
                    .isZero();
        }

        assertThat(usedMemory() - before).isLessThan(20_000_000);
    }

    private static long usedMemory() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
