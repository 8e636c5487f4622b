package dev.holdfast.redis;

import dev.holdfast.tck.BusContract;
import dev.holdfast.tck.ConcurrencyContract;
import dev.holdfast.tck.EpochsContract;
import dev.holdfast.tck.EventsContract;
import dev.holdfast.tck.LossContract;
import dev.holdfast.tck.PrincipalsContract;
import dev.holdfast.tck.ReopenContract;
import dev.holdfast.tck.SessionsContract;
import dev.holdfast.tck.SharedContract;
import dev.holdfast.tck.UnreadableContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The store in Redis keeps the contract. */
@Tag("jdk")
class RedisStoreTest {
    private static RedisServer server;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static RedisBed bed() {
        return new RedisBed(server.url());
    }

    @Nested
    class Sessions extends SessionsContract {
        Sessions() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Events extends EventsContract {
        Events() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Loss extends LossContract {
        Loss() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Epochs extends EpochsContract {
        Epochs() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Concurrency extends ConcurrencyContract {
        Concurrency() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Reopen extends ReopenContract {
        Reopen() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Unreadable extends UnreadableContract {
        Unreadable() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Shared extends SharedContract {
        Shared() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Principals extends PrincipalsContract {
        Principals() {
            super(RedisStoreTest::bed);
        }
    }

    @Nested
    class Bus extends BusContract {
        Bus() {
            super(RedisStoreTest::bed);
        }
    }
}
