package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** {@code holdfast connect} as a client meets it. Closing it kills it. */
record BridgeProcess(Process process, BufferedReader out) implements AutoCloseable {
    static final String INITIALIZE = """
            {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},\
            "clientInfo":{"name":"test","version":"1"}}}""";
    static final String INITIALIZED = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

    /**
     * Starts it.
     *
     * @param folder where it runs
     * @param args the words behind {@code connect}
     */
    static BridgeProcess start(Path folder, String... args) throws IOException {
        List<String> words = new ArrayList<>(List.of("connect"));
        words.addAll(List.of(args));
        Process process = GatewayProcess.start(folder, words).process();
        return new BridgeProcess(process, new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8)));
    }

    void say(String line) throws IOException {
        say((line + "\n").getBytes(UTF_8));
    }

    void say(byte[] bytes) throws IOException {
        process.getOutputStream().write(bytes);
        process.getOutputStream().flush();
    }

    String hear() {
        return Wait.line(out).orElse("the end");
    }

    /** Sends what wants an answer, and returns that; notifications before it are passed over. */
    String ask(String line) throws IOException {
        say(line);
        String heard = hear();
        while (heard.contains("\"method\"")) {
            heard = hear();
        }
        return heard;
    }

    void begin() throws IOException {
        assertThat(ask(INITIALIZE)).startsWith("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":");
        say(INITIALIZED);
    }

    @Override
    public void close() {
        Wait.untilKilled(process);
    }
}
