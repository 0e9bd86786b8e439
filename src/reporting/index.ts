export { checkTimezone } from './check-timezone.ts';
export { applyReportPaths } from './paths.ts';
export { applyReportTimezone } from './timezone.ts';
