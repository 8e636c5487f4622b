package dev.holdfast.spring.autoconfigure;

import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper;
import java.util.Optional;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.util.ClassUtils;
import tools.jackson.databind.json.JsonMapper;

/** The mapper that Spring AI gives to its own transports, or that the application put in its place. */
final class SpringAiMapper {
    /** The SDK's mapper on Jackson 3. */
    static final String JACKSON = "io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper";

    private static final String BEAN = "mcpServerJsonMapper";

    private SpringAiMapper() {}

    static Optional<McpJsonMapper> in(BeanFactory beans) {
        boolean jackson = ClassUtils.isPresent(JACKSON, SpringAiMapper.class.getClassLoader());
        return jackson && beans.containsBean(BEAN) ? Optional.of(Jackson.mapper(beans)) : Optional.empty();
    }

    /** Loaded where Jackson 3 and the SDK's module for it are there. */
    private static final class Jackson {
        private static McpJsonMapper mapper(BeanFactory beans) {
            return new JacksonMcpJsonMapper(beans.getBean(BEAN, JsonMapper.class));
        }
    }
}
