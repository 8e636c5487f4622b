package dev.holdfast.spring;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The arrows between the packages of the starter, and which of them may need an optional library. */
@AnalyzeClasses(packages = "dev.holdfast.spring", importOptions = ImportOption.DoNotIncludeTests.class)
class RoomsTest {
    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.holdfast.(**)").should().beFreeOfCycles();

    private static final String AUTO_CONFIGURATION = "dev.holdfast.spring.autoconfigure..";

    @ArchTest
    static final ArchRule nothingStandsOnTheAutoConfiguration = noClasses()
            .that()
            .resideOutsideOfPackage(AUTO_CONFIGURATION)
            .should()
            .dependOnClassesThat()
            .resideInAPackage(AUTO_CONFIGURATION);

    @ArchTest
    static final ArchRule springAiIsNeededByItsConfigurationsOnly = noClasses()
            .that()
            .haveNameNotMatching("dev.holdfast.spring.autoconfigure.(SpringAi|HoldfastClientAutoConfiguration).*")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.springframework.ai..");

    @ArchTest
    static final ArchRule jpaIsNeededByItsConfigurationOnly = noClasses()
            .that()
            .haveNameNotMatching(".*IntegrationAutoConfiguration\\$OpenInView")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.springframework.orm..");

    @ArchTest
    static final ArchRule springSecurityIsNeededByTheAuthenticatorOnly = noClasses()
            .that()
            .haveNameNotMatching(".*\\.(SpringSecurityAuthenticator|HoldfastAutoConfiguration\\$Security)")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.springframework.security..");

    @ArchTest
    static final ArchRule actuatorIsNeededByTheAutoConfigurationOnly = noClasses()
            .that()
            .resideOutsideOfPackage(AUTO_CONFIGURATION)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "org.springframework.boot.actuate..", "org.springframework.boot.health..", "io.micrometer..");
}
