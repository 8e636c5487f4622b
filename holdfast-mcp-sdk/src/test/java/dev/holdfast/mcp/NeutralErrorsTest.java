package dev.holdfast.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse.JSONRPCError;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

class NeutralErrorsTest {
    private static final int CODE = -32603;
    private static final String SESSION = "0123456789abcdef";
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Logger logger = (Logger) LoggerFactory.getLogger(NeutralErrors.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final NeutralErrors errors = new NeutralErrors(McpJsonDefaults.getMapper(), System::nanoTime);

    @BeforeEach
    void listen() {
        log.start();
        logger.addAppender(log);
        logger.setAdditive(false);
    }

    @AfterEach
    void stop() {
        logger.detachAppender(log);
        logger.setAdditive(true);
    }

    private JSONRPCError told(String message, @Nullable Object data) {
        return errors.neutral(new JSONRPCError(CODE, message, data), SESSION);
    }

    private static String trace(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    /** A text that the JVM or a library has made, not the handler. */
    private static String textOf(Supplier<Object> failing) {
        try {
            throw new AssertionError("it did not fail: " + failing.get());
        } catch (RuntimeException e) {
            return String.valueOf(e.getMessage());
        }
    }

    private void assertKept(String message) {
        JSONRPCError told = told(message, null);

        assertThat(told.message()).as(message).isEqualTo("internal error");
        assertThat(told.code()).isEqualTo(CODE);
        assertThat(log.list).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "java.lang.NullPointerException",
                "java.io.IOException: Broken pipe",
                "failed with com.fasterxml.jackson.databind.exc.MismatchedInputException",
                "No serializer found for class com.acme.shop.Basket and no properties discovered",
                "NullPointerException",
                "got a TimeoutException, sorry",
                "com/acme/shop/Basket",
                "class Basket cannot be cast to class Order",
                "Cannot construct instance of `Basket` (although at least one Creator exists)",
                "unknown McpSchema$SetLevelRequest",
                "[Ljava.lang.String;@1b6d3586",
                "it broke\n\tat com.acme.Shop.buy(Shop.java:12)",
                "it broke\n\tat Shop.buy(Unknown Source)",
                "it broke at Shop.java:12",
                "bad input\n at [Source: REDACTED; line: 1, column: 5]",
                "bad input (through reference chain: Basket[\"items\"])",
                "Cannot invoke \"Basket.items()\" because \"basket\" is null",
                "Cannot read field \"items\" because \"basket\" is null",
                "Cannot load from int array because \"prices\" is null",
                "Cannot read the array length because \"prices\" is null",
                "StackOverflowError",
            })
    void whatNamesAClassOrALineOfCodeIsKeptFromTheClient(String message) {
        assertKept(message);
    }

    @Test
    @SuppressWarnings("NullAway") // the fault is what it is about
    void whatTheJvmSaysOfNullIsKeptFromTheClient() {
        Map<String, String> nothing = Collections.singletonMap("name", null);
        assertKept(textOf(() -> nothing.get("name").trim()));
    }

    @Test
    void whatTheJvmSaysOfACastIsKeptFromTheClient() {
        Object number = 1;
        assertKept(textOf(() -> ((String) number).trim()));
    }

    @Test
    void whatTheMapperSaysOfItsTypesIsKeptFromTheClient() {
        assertKept(textOf(() -> McpJsonDefaults.getMapper()
                .convertValue(
                        Map.of("level", Map.of()), io.modelcontextprotocol.spec.McpSchema.SetLevelRequest.class)));
    }

    @Test
    void aTraceIsKeptFromTheClient() {
        assertKept(trace(new IllegalStateException("it broke")));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Timeout on blocking read for 1000000000 NANOSECONDS",
                "Did not observe any item or terminal signal within 2000ms in 'source(MonoCreate)' (and no fallback has been configured)",
                "Unknown tool: weather.today",
                "no file at /home/me/Documents/Report.txt, see https://docs.example.com/errors/NotFound",
                "the name is null",
                "Cannot invoke the tool while another runs",
                "an exception to the rule, e.g.This one",
                "that costs US$100 or 5$, caused by: inflation",
                "Error: 12 items at 10:30 (see at once)",
                "\u30a8\u30e9\u30fc: \u540d\u524d\u304c\u3042\u308a\u307e\u305b\u3093",
            })
    void aHandlersOwnWordsPass(String message) {
        JSONRPCError told = told(message, null);

        assertThat(told).isEqualTo(new JSONRPCError(CODE, message, null));
        assertThat(log.list).isEmpty();
    }

    @Test
    void whatIsTooLongForWordsIsKeptFromTheClient() {
        assertKept("the client sent " + "x".repeat(20_000));
    }

    @Test
    void aListOfCausesIsDroppedAndTheMessageStays() {
        Throwable failure = new IllegalStateException("the shop is closed", new Oops("no key"));

        JSONRPCError told = told("the shop is closed", McpError.aggregateExceptionMessages(failure));

        assertThat(told).isEqualTo(new JSONRPCError(CODE, "the shop is closed", null));
        assertThat(log.list).hasSize(1);
        assertThat(log.list.get(0).getLevel()).isEqualTo(Level.WARN);
        assertThat(log.list.get(0).getFormattedMessage())
                .contains("session 01234567:", "the shop is closed", "IllegalStateException", "Oops: no key")
                .doesNotContain(SESSION, "\n");
    }

    @Test
    void theNameOfAnyFailureIsDropped() {
        Oops failure = new Oops("the shop is closed");

        assertThat(told("the shop is closed", McpError.aggregateExceptionMessages(failure)))
                .isEqualTo(new JSONRPCError(CODE, "the shop is closed", null));
    }

    @Test
    void anApplicationsOwnDataStays() {
        for (Object own : List.of(
                Map.of("uri", "file:///a/b.txt", "hints", List.of("look elsewhere", 7)),
                List.of(1, 2),
                5,
                "Hint: wait")) {
            assertThat(told("resource not found", own).data()).isEqualTo(own);
        }
        assertThat(log.list).isEmpty();
    }

    @Test
    void dataThatHoldsATraceOrAClassIsDropped() {
        for (Object inner : List.of(
                trace(new IllegalStateException("it broke")),
                Map.of("type", "com.acme.shop.Basket"),
                Map.of("more", List.of("fine", Map.of("trace", trace(new IllegalStateException("it broke"))))),
                Map.of("text", "Cannot invoke \"Basket.items()\" because \"basket\" is null"),
                new IllegalStateException("it broke"))) {
            assertThat(told("it broke", inner)).isEqualTo(new JSONRPCError(CODE, "it broke", null));
        }
    }

    @Test
    void dataThatCannotBeWrittenIsDropped() {
        Iterable<Object> broken = () -> {
            throw new IllegalStateException("not to be read");
        };
        assertThat(told("it broke", broken)).isEqualTo(new JSONRPCError(CODE, "it broke", null));
    }

    @Test
    void aFloodIsAHandfulOfShortLines() {
        for (int i = 0; i < 1000; i++) {
            told("java.lang.Error " + "x".repeat(10_000), null);
        }
        assertThat(log.list)
                .hasSizeBetween(1, 20)
                .allSatisfy(line -> assertThat(line.getFormattedMessage()).hasSizeLessThan(3000));
    }

    /** A text of 32 times the length takes some 32 times as long; looking at each part again for each other would take 1024 times. */
    @Test
    void lookingTakesTimeInProportionToTheText() {
        int many = 1 << 8;
        for (String part : List.of(
                "a", "a.", "aA", "a$", "at ", " ", "\n", "\n ", "A", "Ab", "a/", "Cannot ", "a.b", "aa.aAaa", "aa.",
                "com/a", "\\\"")) {
            String text = part.repeat(many);
            String longer = part.repeat(32 * many);
            told("it broke", longer); // compiles
            long nanos = nanosFor(text);

            assertThat(nanosFor(longer)).as(part).isLessThan(180 * nanos);
        }
    }

    /** Of the processor, whoever else uses it: the best of three. */
    private long nanosFor(String text) {
        return LongStream.generate(() -> {
                    long before = THREADS.getCurrentThreadCpuTime();
                    told("it broke", text);
                    return THREADS.getCurrentThreadCpuTime() - before;
                })
                .limit(3)
                .min()
                .orElseThrow();
    }

    private static final class Oops extends RuntimeException {
        private Oops(String message) {
            super(message);
        }
    }
}
