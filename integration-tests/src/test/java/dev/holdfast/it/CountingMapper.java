package dev.holdfast.it;

import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

/** A mapper that tells how much went through it. */
final class CountingMapper implements McpJsonMapper {
    private final McpJsonMapper mapper;
    private final AtomicInteger reads = new AtomicInteger();
    private final AtomicInteger writes = new AtomicInteger();

    CountingMapper(McpJsonMapper mapper) {
        this.mapper = mapper;
    }

    int reads() {
        return reads.get();
    }

    int writes() {
        return writes.get();
    }

    @Override
    public <T> T readValue(String content, Class<T> type) throws IOException {
        reads.incrementAndGet();
        return mapper.readValue(content, type);
    }

    @Override
    public <T> T readValue(byte[] content, Class<T> type) throws IOException {
        reads.incrementAndGet();
        return mapper.readValue(content, type);
    }

    @Override
    public <T> T readValue(String content, TypeRef<T> type) throws IOException {
        reads.incrementAndGet();
        return mapper.readValue(content, type);
    }

    @Override
    public <T> T readValue(byte[] content, TypeRef<T> type) throws IOException {
        reads.incrementAndGet();
        return mapper.readValue(content, type);
    }

    @Override
    public <T> T convertValue(Object value, Class<T> type) {
        return mapper.convertValue(value, type);
    }

    @Override
    public <T> T convertValue(Object value, TypeRef<T> type) {
        return mapper.convertValue(value, type);
    }

    @Override
    public String writeValueAsString(Object value) throws IOException {
        return mapper.writeValueAsString(value);
    }

    @Override
    public byte[] writeValueAsBytes(Object value) throws IOException {
        writes.incrementAndGet();
        return mapper.writeValueAsBytes(value);
    }
}
