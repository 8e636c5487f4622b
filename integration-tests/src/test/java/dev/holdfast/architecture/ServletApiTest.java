package dev.holdfast.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is compiled against Servlet 6.1 links to the API on the class path, which is that of 6.0 in one of the runs. */
@Tag("edge")
class ServletApiTest {
    /** It asks first whether it may. */
    private static final String WRITES_BUFFERS = "dev.holdfast.servlet.sse.SseChannel.put(java.nio.ByteBuffer)";

    private final JavaClasses classes = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.holdfast");

    @Test
    void everythingThatIsUsedOfTheServletApiExists() {
        List<JavaAccess<?>> uses = classes.stream()
                .<JavaAccess<?>>flatMap(each -> each.getAccessesFromSelf().stream())
                .filter(use -> use.getTargetOwner().getPackageName().startsWith("jakarta.servlet"))
                .filter(use -> !use.getOrigin().getFullName().equals(WRITES_BUFFERS))
                .toList();

        assertThat(uses).hasSizeGreaterThan(100);
        assertThat(uses).filteredOn(use -> !exists(use.getTarget())).isEmpty();
    }

    private static boolean exists(AccessTarget target) {
        return target.resolveMember().isPresent();
    }
}
