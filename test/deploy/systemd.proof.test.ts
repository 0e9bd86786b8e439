import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testConfig } from '../support/service.ts';

const unit = readFileSync('deploy/systemd/receiver@.service', 'utf8');

it('the unit leaves a stop enough time, and opens enough files for every connection', () => {
  const [, stopS] = /^TimeoutStopSec=(\d+)s$/m.exec(unit)!;
  const [, timeoutMs] = /^const timeoutMs = ([\d_]+);/m.exec(readFileSync('src/commands/start.ts', 'utf8'))!;
  expect(Number(stopS) * 1000).toBeGreaterThan(Number(timeoutMs!.replace('_', '')));
  const [, files] = /^LimitNOFILE=(\d+)$/m.exec(unit)!;
  expect(Number(files)).toBeGreaterThan(2 * testConfig({}).limits.connections.total);
});

// The only tests that are not defined where their program is missing: it is a part of the system, not a package to install.
if (spawnSync('systemd-analyze', ['--version']).status === 0) {
  let folder: string;
  let file: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'receiver-systemd-'));
    file = join(folder, 'receiver@.service');
    writeFileSync(file, unit.replaceAll('/opt/webhook-receiver', process.cwd()));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const analyze = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    return { status, output: stdout + stderr };
  };

  it('systemd finds no fault in the unit', () => {
    // The status also tells of other units of this machine, which may have faults.
    const { output } = analyze('verify', file);
    const ours = output.split('\n').filter((line) => line.includes('receiver@'));
    expect(ours).toEqual([]);
  });

  it('systemd rates the exposure of the unit at 1.5 of 10 or less', () => {
    const { status, output } = analyze('security', '--offline=true', '--threshold=15', '--no-pager', file);
    expect([status, output]).toEqual([0, expect.stringContaining('Overall exposure level')]);
  });
}
