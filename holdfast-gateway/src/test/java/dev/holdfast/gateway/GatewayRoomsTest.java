package dev.holdfast.gateway;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The arrows between the packages of the gateway go down only. */
@AnalyzeClasses(packages = "dev.holdfast.gateway", importOptions = ImportOption.DoNotIncludeTests.class)
class GatewayRoomsTest {
    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.holdfast.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule arrowsGoDown = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("application")
            .definedBy("dev.holdfast.gateway")
            .layer("http")
            .definedBy("dev.holdfast.gateway.http")
            .layer("demo")
            .definedBy("dev.holdfast.gateway.demo")
            .layer("stdio")
            .definedBy("dev.holdfast.gateway.stdio")
            .layer("connect")
            .definedBy("dev.holdfast.gateway.connect")
            .layer("doctor")
            .definedBy("dev.holdfast.gateway.doctor")
            .layer("process")
            .definedBy("dev.holdfast.gateway.process")
            .layer("text")
            .definedBy("dev.holdfast.gateway.text")
            .whereLayer("application")
            .mayNotBeAccessedByAnyLayer()
            .whereLayer("http")
            .mayOnlyBeAccessedByLayers("application")
            .whereLayer("demo")
            .mayOnlyBeAccessedByLayers("application")
            .whereLayer("stdio")
            .mayOnlyBeAccessedByLayers("application")
            .whereLayer("connect")
            .mayOnlyBeAccessedByLayers("application")
            .whereLayer("doctor")
            .mayOnlyBeAccessedByLayers("application")
            .whereLayer("process")
            .mayOnlyBeAccessedByLayers("application", "stdio", "connect", "doctor")
            .ensureAllClassesAreContainedInArchitecture();
}
