import { spawnSync } from 'node:child_process';
import { whyNoFaultyDisk } from '../chaos/faulty-disk.ts';
import { mayCreateNetwork } from '../chaos/hosts/network.ts';
import { mayMount } from '../chaos/small-disk.ts';

const hasSystemd = () => spawnSync('systemd-analyze', ['--version'], { stdio: 'ignore' }).status === 0;

/** What tests leave out on this machine, each with the reason. Other missing programs fail their tests. */
export function whatIsMissing(): string[] {
  const noDisk = whyNoFaultyDisk();
  return [
    ...(noDisk ? [`slow, failing and hung disks, because ${noDisk}`] : []),
    ...(mayMount() ? [] : ['a full disk, because this user may not mount one']),
    ...(mayCreateNetwork()
      ? []
      : ['links between hosts, because network namespaces need root, ip, tc and iptables']),
    ...(hasSystemd() ? [] : ['the checks of the systemd unit, because there is no systemd-analyze']),
  ];
}
