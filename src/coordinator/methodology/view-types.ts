/** Stands in for the views of core until they are there. */
export type MethodologyStatus = Readonly<Record<string, unknown>>;
export type Health = Readonly<Record<string, unknown>>;
export type FeatureView = Readonly<Record<string, unknown>>;
export type Zoom = Readonly<Record<string, unknown>>;
