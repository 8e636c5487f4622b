package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Frameworks reflect over the types of a library, whatever version of the SDK is beside it. */
@Tag("sdk")
class SdkTypesTest {
    @ParameterizedTest
    @ValueSource(classes = {HoldfastTransportProvider.class, HoldfastClientTransport.class})
    void everyPublicTypeCanBeReflectedOver(Class<?> ofModule) {
        // ArchUnit does not load the others, some of which stand on types that not every SDK has
        List<JavaClass> types = new ClassFileImporter()
                .importUrl(ofModule.getProtectionDomain().getCodeSource().getLocation()).stream()
                        .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                        .toList();

        assertThat(types).hasSizeGreaterThan(2);
        for (JavaClass found : types) {
            Class<?> type = found.reflect();
            assertThatCode(type::getMethods).as(found.getName()).doesNotThrowAnyException();
            assertThatCode(type::getDeclaredMethods).as(found.getName()).doesNotThrowAnyException();
            assertThatCode(type::getDeclaredConstructors).as(found.getName()).doesNotThrowAnyException();
            assertThatCode(type::getDeclaredFields).as(found.getName()).doesNotThrowAnyException();
        }
    }
}
