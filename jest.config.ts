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

const config: Config = {
  roots: ['<rootDir>/test'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  transform: {
    '\\.ts$': compiled({ tsx: false }),
    '\\.tsx$': compiled({ tsx: true }),
    '\\.mjs$': compiled({ tsx: false }),
    '/node_modules/.*\\.js$': compiled({ tsx: false }),
  },
  // These are written in modules only; the last one imports a module when it is first used.
  transformIgnorePatterns: [
    '/node_modules/(?!(preact|openid-client|oauth4webapi|jose|@opentelemetry/otlp-exporter-base)/)',
  ],
  // With programs that few machines have: npm run test:providers.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/providers/'],
  // A test that waits for ever fails; one on a slow machine does not.
  testTimeout: 300_000,
  // Most tests wait for processes of their own.
  maxWorkers: availableParallelism() + 2,
  // Node 20 now and then spins for ever in its own clean-up when a process that had many children ends by itself.
  forceExit: true,
};

export default config;
