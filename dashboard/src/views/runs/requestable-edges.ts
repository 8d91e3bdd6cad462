import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';

/** The edges that have not converged, by feature: `REQ-F-A#design_code`. */
export const requestableEdges = ({ features }: Pick<MethodologyStatus, 'features'>) =>
  features.flatMap(({ feature_id, you_are_here }) => {
    const edges = you_are_here.flatMap(({ edge, mark }) => (mark === '✓' ? [] : [`${feature_id}#${edge}`]));
    return edges.length === 0 ? [] : [{ feature_id, edges }];
  });
