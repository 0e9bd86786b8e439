import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface ImageConfig {
  User: string;
  Env: string[];
  Cmd: string[];
  WorkingDir: string;
  StopSignal: string;
  Labels: Record<string, string>;
  Healthcheck: { Test: string[] };
}

export const standIn = 'localhost/node-stand-in';
const image = 'localhost/webhook-receiver';

/** buildah with a store of its own below `folder`. */
export function openBuildah(folder: string) {
  const buildah = (...args: string[]) =>
    execFileSync('buildah', ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * 1024 * 1024,
      env: { STORAGE_DRIVER: 'overlay', BUILDAH_ISOLATION: 'chroot', ...process.env },
    }).trim();
  return {
    /** A base image of minimal Debian with the Node and the npm of this machine, and the user that Node's image has. */
    makeStandIn() {
      const root = join(folder, 'base');
      execFileSync('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root]);
      cpSync(process.execPath, join(root, 'usr/local/bin/node'));
      const npm = dirname(dirname(realpathSync(process.env.npm_execpath!)));
      mkdirSync(join(root, 'usr/local/lib/node_modules'), { recursive: true });
      cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
      symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
      execFileSync('chroot', [root, 'useradd', '--uid', '1000', '--user-group', '--create-home', 'node']);
      const container = buildah('from', 'scratch');
      // Where this machine needs an authority of its own to reach npm, so does the build.
      const { NODE_EXTRA_CA_CERTS } = process.env;
      if (NODE_EXTRA_CA_CERTS) {
        cpSync(NODE_EXTRA_CA_CERTS, join(root, 'extra-ca.crt'));
        buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/extra-ca.crt', container);
      }
      buildah('add', container, root, '/');
      buildah('commit', '--quiet', container, standIn);
      buildah('rm', container);
    },
    /**
     * Builds the image of the sources in `context`, with layers.
     *
     * @returns what buildah printed
     */
    build(context: string, args: string[]) {
      // The format OCI has no health checks.
      return buildah('build', '--layers', '--format', 'docker', ...args, '--tag', image, context);
    },
    config: () =>
      (JSON.parse(buildah('inspect', '--type', 'image', image)) as { Docker: { config: ImageConfig } }).Docker
        .config,
    sizes: () => buildah('images', '--format', '{{.Name}} {{.Size}}', '--filter', 'dangling=false'),
    /** The folder of the image's files. */
    mount() {
      const path = buildah('mount', buildah('from', '--pull-never', image));
      chmodSync(path, 0o755);
      return path;
    },
    close: () => buildah('rm', '--all'),
  };
}
