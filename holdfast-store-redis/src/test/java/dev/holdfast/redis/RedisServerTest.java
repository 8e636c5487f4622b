package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The server of these tests is the one that was started. */
class RedisServerTest {
    private static Stream<ProcessHandle> running() {
        return ProcessHandle.current().children().filter(ProcessHandle::isAlive);
    }

    @Test
    void oneWhosePortAnotherHasDoesNotStart() {
        try (RedisServer other = RedisServer.start()) {
            List<ProcessHandle> before = running().toList();
            assertThatThrownBy(() -> RedisServer.start(other.port(), List.of()))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("Redis did not start");
            assertThat(before).containsAll(running().toList());
        }
    }
}
