/** What the queue carries: the ids of deliveries, never what they say. */
export type Jobs = {
  /** Apply these deliveries. */
  apply: { ids: string[] };
};

export type JobName = keyof Jobs;
export type JobData = Jobs[JobName];
