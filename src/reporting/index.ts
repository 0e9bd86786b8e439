export { applyReportPaths } from './paths.ts';
export { applyReportTimezone } from './timezone.ts';
