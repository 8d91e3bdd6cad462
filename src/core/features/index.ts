export { evolveMethodology } from './evolve.js';
export {
  type EdgeClaim,
  emptyMethodologyState,
  type FeatureRow,
  type FeatureState,
  type MethodologyState,
} from './feature-state.js';
export { type FeatureView, featureView } from './feature-view.js';
export { ganttText } from './gantt.js';
export { type HealthReport, healthView } from './health.js';
export { featureRows } from './rows.js';
export { type MethodologyStatus, statusView } from './status.js';
export { traceView } from './trace.js';
export { zoomView } from './zoom.js';
