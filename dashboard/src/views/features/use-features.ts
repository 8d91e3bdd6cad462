import type { UseQueryResult } from '@tanstack/react-query';
import type { FeatureView, MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { useReply } from '../../api/use-reply.js';

/** All features. The operation has two replies: without a feature in the query this one, with a feature the one below. */
export const useFeatures = () => useReply('methodology_status') as UseQueryResult<MethodologyStatus>;

export const useFeature = (feature: string) =>
  useReply('methodology_status', { query: { feature } }) as UseQueryResult<FeatureView>;
