/**
 * For tests: a fake catalog, in memory or behind HTTP, with a clock, a record of calls and fault injection. Also
 * conformance suites for your own stores, contents, catalogs and servers.
 *
 * @module
 */
export type { Call, CallName, Calls } from './fake/calls.ts'
export { type FakeOptions, fakeCatalog } from './fake/catalog.ts'
export type { FakeClock } from './fake/clock.ts'
export type { FakeCatalog, FakeServer, FakeSnapshot, ServedFakeOptions } from './fake/fake.ts'
export type { Fault, FaultTarget, Matched } from './fake/fault.ts'
export type { FaultHandle, Faults } from './fake/faults.ts'
export { catalogFixture, serverFixture } from './fake/fixture.ts'
export type { Seed, SeedChange, SeedNode, SeedRows, SeedTable, SeedVersion } from './fake/seed.ts'
export { type FakeServerOptions, fakeServer } from './fake/server.ts'
export type { CatalogUnderTest } from './suites/catalog/trial.ts'
export { type CatalogGroup, type CatalogSuiteOptions, catalogSuite } from './suites/catalog-suite.ts'
export type { ContentPlace } from './suites/content/trial.ts'
export { type ContentSuiteOptions, contentSuite } from './suites/content-suite.ts'
export { type HttpSuiteOptions, httpSuite } from './suites/http-suite.ts'
export type { IcebergFeature } from './suites/iceberg/endpoints.ts'
export { type IcebergSuiteOptions, icebergSuite } from './suites/iceberg-suite.ts'
export { conformanceRules } from './suites/rules.ts'
export type { StorePlace } from './suites/store/trial.ts'
export { type StoreSuiteOptions, storeSuite } from './suites/store-suite.ts'
export { BrokenRule, type Rule, type Runner } from './suites/suite.ts'
export {
  type TransactionSuiteOptions,
  type TransactionsUnderTest,
  transactionSuite,
} from './suites/transaction-suite.ts'
