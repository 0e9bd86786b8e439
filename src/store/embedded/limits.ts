// By what programs, libraries and the system say.
const limits: [pattern: RegExp, name: string][] = [
  [
    /EAGAIN|Resource temporarily unavailable|[Cc]annot fork|could not fork/,
    'The limit of processes is reached: of the user (ulimit -u), of the unit (TasksMax) or of the container (pids limit)',
  ],
  [
    /EMFILE|Too many open files(?! in system)|insufficient file descriptors/,
    'The limit of open files of this process is reached: raise ulimit -n (LimitNOFILE of a unit) to 4096',
  ],
  [
    /ENFILE|open files in system/,
    'The limit of open files of the machine is reached: raise sysctl fs.file-max',
  ],
  [/ENOSPC|No space left on device/, 'The disk is full'],
];

/** A reason for which a program could not run and, where that is a limit, which one. */
export function explainLimit(reason: string): string {
  const name = limits.find(([pattern]) => pattern.test(reason))?.[1];
  return name ? `${reason}\n${name}` : reason;
}
