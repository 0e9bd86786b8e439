import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build } from 'esbuild';

const { resolve } = createRequire(import.meta.url);
const undiciLicense = readFileSync(resolve('undici/LICENSE'), 'utf8');
const options = { entryPoints: ['index.ts'], bundle: true, platform: 'node', target: 'node20' };

await build({ ...options, format: 'cjs', packages: 'external', outfile: 'dist/cjs/index.js' });
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');

// One implementation for both kinds of modules: an error of one would not be an instance of the other's class.
for (const file of ['index.js', 'index.d.ts']) {
  writeFileSync(`dist/${file}`, "export * from './cjs/index.js';\n");
}

// For bundlers. undici is CommonJS and requires modules of Node, which a bundle in ESM cannot do.
await build({
  ...options,
  format: 'esm',
  external: ['zod'],
  outfile: 'dist/bundle.js',
  banner: { js: `/* undici:\n${undiciLicense}*/\nconst require = process.getBuiltinModule;` },
});
