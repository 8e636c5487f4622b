package dev.holdfast.spring.autoconfigure;

import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** The classes whose presence is asked for when the application starts: a native image knows them by name only if it is told so. */
final class NativeHints implements RuntimeHintsRegistrar {
    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader classes) {
        Stream.of(
                        StockTransport.SERVER,
                        StockTransport.STREAMABLE,
                        ServletPaths.MVC,
                        SpringAiMapper.JACKSON,
                        SpringDataRedis.DETAILS,
                        StoreConfiguration.ROCKSDB,
                        StoreConfiguration.REDIS)
                .forEach(name -> hints.reflection().registerTypeIfPresent(classes, name));
    }
}
