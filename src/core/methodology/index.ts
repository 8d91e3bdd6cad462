export { type AuthorityRequest, type AuthorityVerdict, checkAuthority } from './definition/authority.js';
export { type EffectiveCheck, effectiveChecklist } from './definition/checklist.js';
export { type ConvergenceVerdict, judgeConvergence, type ReportedCheck } from './definition/convergence.js';
export { DEFAULT_FILES } from './definition/defaults/files.js';
export { canonicalEdge, edgeSubject } from './definition/edge-name.js';
export { isFilesResult, parseManifest, type ResultManifest } from './definition/manifest.js';
export type * from './definition/methodology.js';
export { innerProduct, suggestWorkOrder } from './definition/modules.js';
export { profileEdges, profileOf } from './definition/profile.js';
export { parseMethodology } from './definition/read-methodology.js';
export { parseDuration, timeBoxStatus } from './definition/time-box.js';
export { evolveMethodology } from './progress/evolve.js';
export {
  type EdgeClaim,
  emptyMethodologyState,
  type FeatureRow,
  type FeatureState,
  type MethodologyState,
} from './progress/feature-state.js';
export type { RouteInput } from './progress/route-input.js';
export { featureRows } from './progress/rows.js';
export { chooseRoute } from './routing/choose-route.js';
export type { Escalation, OverlappingWork, RouteAdvice, WorkspaceState } from './routing/route.js';
export { type FeatureView, featureView } from './views/feature-view.js';
export { ganttText } from './views/gantt.js';
export { type HealthReport, healthView } from './views/health.js';
export { type MethodologyStatus, statusView } from './views/status.js';
export { traceView } from './views/trace.js';
export { zoomView } from './views/zoom.js';
