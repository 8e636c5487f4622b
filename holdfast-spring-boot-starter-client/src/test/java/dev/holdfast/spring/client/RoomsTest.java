package dev.holdfast.spring.client;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The arrows between the packages of the starter, and which of them may need an optional library. */
@AnalyzeClasses(packages = "dev.holdfast.spring.client", importOptions = ImportOption.DoNotIncludeTests.class)
class RoomsTest {
    private static final String AUTO_CONFIGURATION = "dev.holdfast.spring.client.autoconfigure..";

    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.holdfast.spring.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule nothingStandsOnTheAutoConfiguration = noClasses()
            .that()
            .resideOutsideOfPackage(AUTO_CONFIGURATION)
            .should()
            .dependOnClassesThat()
            .resideInAPackage(AUTO_CONFIGURATION);

    @ArchTest
    static final ArchRule springAiIsNeededByTheAutoConfigurationOnly = noClasses()
            .that()
            .resideOutsideOfPackage(AUTO_CONFIGURATION)
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.springframework.ai..");

    @ArchTest
    static final ArchRule metersAndHealthAreNeededInTheirPackageOnly = noClasses()
            .that()
            .resideOutsideOfPackages("dev.holdfast.spring.client.actuate..", AUTO_CONFIGURATION)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.springframework.boot.health..", "io.micrometer..");
}
