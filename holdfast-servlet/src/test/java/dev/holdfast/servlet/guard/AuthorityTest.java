package dev.holdfast.servlet.guard;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("jdk")
@Timeout(30)
class AuthorityTest {
    private static final int LONGEST = 255;

    @ParameterizedTest
    @ValueSource(strings = {"a.", "a", "1.", "1", "a.1.", "-", ".", ":", "[", "[:", "[1:", "[1."})
    void aHostOfAsMuchAsAHeaderMayHoldIsNone(String part) {
        String host = part.repeat(8_000 / part.length());

        assertThat(Authority.parse(host)).isEmpty();
        assertThat(Authority.parse(host + "a")).isEmpty();
        assertThat(Authority.parse(host + "]")).isEmpty();
        assertThat(Authority.loopbackAddress(host)).isFalse();
    }

    @Test
    void aNameMayBeAsLongAsTheDnsAllows() {
        String longest = "a.".repeat(LONGEST / 2) + "b";

        assertThat(Authority.parse(longest + ":65535").map(Authority::host)).hasValue(longest);
        assertThat(Authority.parse(longest + "b")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "0.0.0.0, 0.0.0.0",
        "255.255.255.255, 255.255.255.255",
        "10.20.30.40, 10.20.30.40",
        "[::], 0:0:0:0:0:0:0:0",
        "[1::], 1:0:0:0:0:0:0:0",
        "[::1], 0:0:0:0:0:0:0:1",
        "[1:2:3:4:5:6:7:8], 1:2:3:4:5:6:7:8",
        "[1:2:3::7:8], 1:2:3:0:0:0:7:8",
        "[1:2:3:4:5:6:7::], 1:2:3:4:5:6:7:0",
        "[::2:3:4:5:6:7:8], 0:2:3:4:5:6:7:8",
        "[2001:0DB8::00ff], 2001:db8:0:0:0:0:0:ff",
        "[64:ff9b::192.0.2.33], 64:ff9b:0:0:0:0:c000:221",
        "[1:2:3:4:5:6:1.2.3.4], 1:2:3:4:5:6:102:304",
        "[::ffff:10.0.0.1], 10.0.0.1",
        "[::FFFF:a00:1], 10.0.0.1",
    })
    void anAddressHasOneSpelling(String literal, String address) {
        assertThat(Authority.parse(literal).map(Authority::host)).hasValue(address);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "256.1.1.1",
                "1.1.1.999",
                "1.1.1",
                "1.1.1.1.1",
                "00.1.1.1",
                "[]",
                "[:]",
                "[:::]",
                "[1]",
                "[1:2]",
                "[1:2:3:4:5:6:7]",
                "[1:2:3:4:5:6:7:8:9]",
                "[1:2:3:4:5:6:7:8::]",
                "[1::2::3]",
                "[:1:2:3:4:5:6:7]",
                "[1:2:3:4:5:6:7:]",
                "[12345::]",
                "[::1.2.3]",
                "[::1.2.3.256]",
                "[::1.2.3.4:5]",
                "[1.2.3.4::]",
                "[1:2:3:4:5:6:7:1.2.3.4]",
                "[1.2.3.4]",
                "[dead.beef]",
                "[abc]",
            })
    void whatIsNoAddressIsNone(String literal) {
        assertThat(Authority.parse(literal)).isEmpty();
    }

    @Test
    void noResolverIsAskedForAHost(@TempDir Path folder) throws Exception {
        List<String> asked =
                List.of("999.1.1.1", "1.1.1.256", "[abc]", "[dead.beef]", "[999.1.1.1]", "[1.2.3.4]", "[1]", "[.]");
        String names = String.join(" ", asked).replaceAll("[\\[\\]]", "");
        Path hosts = Files.writeString(folder.resolve("hosts"), "127.0.0.1 known.example " + names + "\n");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Djdk.net.hosts.file=" + hosts,
                "-cp",
                System.getProperty("java.class.path"),
                Resolving.class.getName()));
        command.addAll(asked);
        Path errors = folder.resolve("errors");
        Process process =
                new ProcessBuilder(command).redirectError(errors.toFile()).start();
        try {
            String said = new String(process.getInputStream().readAllBytes(), UTF_8);
            assertThat(said.lines()).as(Files.readString(errors)).containsExactly("the resolver works: true");
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    /** Runs in a JVM whose resolver knows every host that it is given, and tells those that were looked up. */
    static final class Resolving {
        private Resolving() {}

        public static void main(String[] hosts) throws IOException {
            System.out.println("the resolver works: "
                    + InetAddress.getByName("known.example").isLoopbackAddress());
            for (String host : hosts) {
                Authority.parse(host).ifPresent(System.out::println);
            }
        }
    }
}
