package dev.holdfast.spring.autoconfigure;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.modelcontextprotocol.json.McpJsonMapper;
import java.util.Optional;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.util.ClassUtils;
import tools.jackson.databind.json.JsonMapper;

/** The mapper that Spring AI gives to its own transports, or that the application put in its place. */
final class SpringAiMapper {
    /** The SDK's mapper on Jackson 3, for that of Spring AI 2. */
    static final String JACKSON_3 = "io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper";

    /** The SDK's mapper on Jackson 2, for that of Spring AI 1.1. */
    static final String JACKSON_2 = "io.modelcontextprotocol.json.jackson2.JacksonMcpJsonMapper";

    private static final String BEAN = "mcpServerJsonMapper";
    private static final String BEAN_OF_1 = "mcpServerObjectMapper";

    private SpringAiMapper() {}

    static Optional<McpJsonMapper> in(BeanFactory beans) {
        if (isPresent(JACKSON_3) && beans.containsBean(BEAN)) {
            return Optional.of(Jackson3.mapper(beans));
        }
        return isPresent(JACKSON_2) && beans.containsBean(BEAN_OF_1)
                ? Optional.of(Jackson2.mapper(beans))
                : Optional.empty();
    }

    private static boolean isPresent(String type) {
        return ClassUtils.isPresent(type, SpringAiMapper.class.getClassLoader());
    }

    /** Loaded where Jackson 3 and the SDK's module for it are there. */
    private static final class Jackson3 {
        private static McpJsonMapper mapper(BeanFactory beans) {
            return new io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper(
                    beans.getBean(BEAN, JsonMapper.class));
        }
    }

    /** Loaded where Jackson 2 and the SDK's module for it are there. */
    private static final class Jackson2 {
        private static McpJsonMapper mapper(BeanFactory beans) {
            return new io.modelcontextprotocol.json.jackson2.JacksonMcpJsonMapper(
                    beans.getBean(BEAN_OF_1, ObjectMapper.class));
        }
    }
}
