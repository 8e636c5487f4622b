package dev.holdfast.peers;

import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.ai.mcp.annotation.McpToolParam;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.stereotype.Service;

/** A Spring AI server with the tool that the benchmarks call. */
@SpringBootApplication
public class EchoApplication {
    public static void main(String[] args) {
        SpringApplication.run(EchoApplication.class, args);
    }

    /** The tool. */
    @Service
    public static class EchoTools {
        @McpTool(name = "echo", description = "Returns its text.")
        public String echo(@McpToolParam(description = "The text") String text) {
            return text;
        }
    }
}
