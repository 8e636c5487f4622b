package dev.holdfast.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("jdk")
class ConnectionLimitTest {
    @ParameterizedTest
    @CsvSource({
        "256, 64",
        "1024, 512",
        "4096, 2816",
        "20000, 14744",
        "65536, 48896",
        "1048576, 786176",
        "9223372036854775807, 2147483647",
    })
    void aQuarterOfTheFilesIsLeftToOthers(long files, int connections) {
        assertThat(WebServer.connections(files)).isEqualTo(connections);
    }
}
