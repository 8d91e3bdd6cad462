import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';

/** The edges that a run can be requested for, by feature: those that have not converged, as `REQ-F-A#design_code`. */
export const edgesToRun = ({ features }: Pick<MethodologyStatus, 'features'>) =>
  features.flatMap(({ feature_id, you_are_here }) => {
    const edges = you_are_here.flatMap(({ edge, mark }) => (mark === '✓' ? [] : [`${feature_id}#${edge}`]));
    return edges.length === 0 ? [] : [{ feature_id, edges }];
  });
