/** @jest-config-loader esbuild-register */
import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

const compiled = ({ tsx }: { tsx: boolean }): [string, Record<string, unknown>] => [
  '@swc/jest',
  {
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', tsx },
      transform: { react: { runtime: 'automatic', importSource: 'preact' } },
    },
    module: { type: 'commonjs' },
  },
];

// The same inputs in every run, see test/run.ts.
process.env.TEST_SEED ??= '1';

const config: Config = {
  // With src, so that --changed finds the tests of a changed file.
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFiles: ['<rootDir>/test/support/seed.ts'],
  transform: {
    '\\.ts$': compiled({ tsx: false }),
    '\\.tsx$': compiled({ tsx: true }),
    '\\.mjs$': compiled({ tsx: false }),
    '/node_modules/.*\\.js$': compiled({ tsx: false }),
  },
  // These are written in modules only; the last one imports a module when it is first used.
  transformIgnorePatterns: ['/node_modules/(?!(preact|openid-client|oauth4webapi|jose)/)'],
  // Twice what `until` waits: a test that waits for ever fails, one on a slow machine does not.
  testTimeout: 240_000,
  // Most tests wait for processes of their own.
  maxWorkers: availableParallelism() + 2,
  // Node.js frees a heap of more than a gigabyte in longer than the half second after which Jest kills a worker.
  workerIdleMemoryLimit: '500MB',
};

export default config;
