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
                        StartReport.SERVLET,
                        StockTransport.SERVER,
                        StockTransport.SERVER_OF_1_0,
                        StockTransport.STREAMABLE,
                        StockTransport.STREAMABLE_1,
                        ServletPaths.MVC,
                        ServletPaths.MVC_3,
                        SpringAiMapper.JACKSON_3,
                        SpringAiMapper.JACKSON_2,
                        SpringDataRedis.DETAILS,
                        SpringDataRedis.DETAILS_3,
                        StoreConfiguration.ROCKSDB,
                        StoreConfiguration.REDIS)
                .forEach(name -> hints.reflection().registerTypeIfPresent(classes, name));
    }
}
