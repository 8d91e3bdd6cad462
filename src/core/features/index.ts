export { evolveMethodology } from './evolve.js';
export { type FeatureView, featureView } from './feature.js';
export {
  type EdgeClaim,
  emptyMethodology,
  type FeatureRow,
  type FeatureState,
  type MethodologyState,
} from './feature-state.js';
export { ganttText } from './gantt.js';
export { type Health, healthView } from './health.js';
export { rowsOf } from './rows.js';
export { type MethodologyStatus, statusView } from './status.js';
export { traceView } from './trace.js';
export { zoomView } from './zoom.js';
