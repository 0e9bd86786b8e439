import { readFileSync } from 'node:fs';

interface Entry {
  version?: string;
  integrity?: string;
  dev?: boolean;
  link?: boolean;
}
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Entry>;
};

// npm verifies an archive only where the lock file has its checksum. Development packages for other platforms are not installed
// where the receiver runs.
it('package-lock.json has a checksum of every package that an installation of the receiver may download, on every platform', () => {
  const downloaded = Object.entries(packages).filter(
    ([path, { link, dev }]) => path.startsWith('node_modules/') && !link && !dev,
  );
  expect(downloaded.length).toBeGreaterThan(100);
  const unchecked = downloaded.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
  expect(unchecked.map(([path, { version }]) => `${path} ${version}`)).toEqual([]);
});
